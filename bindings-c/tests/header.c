/* The header is self-contained, may be included twice, and compiles as C. */
#include <stackwright.h>
#include <stackwright.h>

int main(void)
{
    sw_status_t status = SW_STATUS_OK;
    sw_provider_t provider = {0};
    sw_program_t program = {0};
    return status != SW_STATUS_OK || provider.create || program.run || sw_version()[0] == '\0';
}
