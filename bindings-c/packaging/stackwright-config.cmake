# The CMake package of Stackwright: targets stackwright::stackwright (shared) and stackwright::static.
get_filename_component(_stackwright_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET stackwright::stackwright)
  add_library(stackwright::stackwright SHARED IMPORTED)
  set_target_properties(stackwright::stackwright PROPERTIES
    IMPORTED_LOCATION "${_stackwright_prefix}/lib/libstackwright.so"
    IMPORTED_SONAME "libstackwright.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${_stackwright_prefix}/include")
endif()

if(NOT TARGET stackwright::static)
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  find_package(Threads REQUIRED)
  add_library(stackwright::static STATIC IMPORTED)
  set_target_properties(stackwright::static PROPERTIES
    IMPORTED_LOCATION "${_stackwright_prefix}/lib/libstackwright.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_stackwright_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
endif()

unset(_stackwright_prefix)
