# find_package(CANN) of the simulated toolkit: targets CANN::ascendcl, CANN::nnopbase and CANN::opapi.
get_filename_component(CANN_ROOT "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(CANN_VERSION "@VERSION@")
foreach(library IN ITEMS ascendcl nnopbase opapi)
  if(NOT TARGET CANN::${library})
    add_library(CANN::${library} SHARED IMPORTED)
    set_target_properties(CANN::${library} PROPERTIES
      IMPORTED_LOCATION "${CANN_ROOT}/lib64/lib${library}.so"
      INTERFACE_INCLUDE_DIRECTORIES "${CANN_ROOT}/include")
  endif()
endforeach()
set_property(TARGET CANN::nnopbase PROPERTY INTERFACE_LINK_LIBRARIES CANN::ascendcl)
set_property(TARGET CANN::opapi PROPERTY INTERFACE_LINK_LIBRARIES CANN::nnopbase)
