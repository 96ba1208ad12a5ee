# find_package(mlcp): targets mlcp::mlcp (shared) and mlcp::static. Found relative to this file, so the tree may be moved.

get_filename_component(_mlcp_libdir "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
set(_mlcp_prefix "${_mlcp_libdir}")
while(NOT EXISTS "${_mlcp_prefix}/include/mlcp.h")
    get_filename_component(_mlcp_parent "${_mlcp_prefix}" DIRECTORY)
    if(_mlcp_parent STREQUAL _mlcp_prefix)
        set(mlcp_FOUND FALSE)
        set(mlcp_NOT_FOUND_MESSAGE "no include/mlcp.h above ${_mlcp_libdir}")
        return()
    endif()
    set(_mlcp_prefix "${_mlcp_parent}")
endwhile()

if(NOT TARGET mlcp::mlcp)
    add_library(mlcp::mlcp SHARED IMPORTED)
    set_target_properties(mlcp::mlcp PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${_mlcp_prefix}/include")
    if(WIN32)
        set_target_properties(mlcp::mlcp PROPERTIES IMPORTED_LOCATION "${_mlcp_prefix}/bin/mlcp.dll"
                                                    IMPORTED_IMPLIB "${_mlcp_libdir}/mlcp.dll.lib")
    else()
        set_target_properties(mlcp::mlcp PROPERTIES
            IMPORTED_LOCATION "${_mlcp_libdir}/${CMAKE_SHARED_LIBRARY_PREFIX}mlcp${CMAKE_SHARED_LIBRARY_SUFFIX}")
    endif()

    add_library(mlcp::static STATIC IMPORTED)
    set_target_properties(mlcp::static PROPERTIES
        IMPORTED_LOCATION "${_mlcp_libdir}/${CMAKE_STATIC_LIBRARY_PREFIX}mlcp${CMAKE_STATIC_LIBRARY_SUFFIX}"
        INTERFACE_INCLUDE_DIRECTORIES "${_mlcp_prefix}/include")
    # What a Rust static library needs, as rustc --print native-static-libs says.
    if(WIN32)
        set_property(TARGET mlcp::static PROPERTY INTERFACE_LINK_LIBRARIES kernel32 ntdll userenv ws2_32 dbghelp)
    elseif(APPLE)
        set_property(TARGET mlcp::static PROPERTY INTERFACE_LINK_LIBRARIES System m)
    else()
        set_property(TARGET mlcp::static PROPERTY INTERFACE_LINK_LIBRARIES gcc_s util rt pthread m dl c)
    endif()
endif()
