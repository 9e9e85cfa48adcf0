"""Prints the shared libpython of this interpreter: its path, or the name that the loader finds it by."""

import ctypes
import os
import sys
import sysconfig

library = sysconfig.get_config_var("INSTSONAME") or ""
folders = [
    sysconfig.get_config_var("LIBDIR") or "",
    os.path.join("/usr/lib", sysconfig.get_config_var("MULTIARCH") or ""),
]
if ".so" in library:
    for candidate in [os.path.join(folder, library) for folder in folders] + [library]:
        try:
            ctypes.CDLL(candidate)
        except OSError:
            continue
        print(candidate)
        sys.exit(0)
sys.exit("this Python has no shared library; on Debian: apt-get install libpython3.x")
