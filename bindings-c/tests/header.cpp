// The header compiles as C++, included twice; its enumerations and tables are usable.
#include <stackwright.h>
#include <stackwright.h>

int main()
{
    sw_status_t status = SW_STATUS_OK;
    sw_provider_t provider{};
    provider.struct_size = sizeof provider;
    return status != SW_STATUS_OK || provider.create != nullptr || sw_version()[0] == '\0';
}
