# SPDX-License-Identifier: GPL-3.0-or-later
"""An NDT7 server by version 0.11 of the ndt7 protocol specification.

    python -m flent_aqm.measure.ndt7       starts it alone, with few imports
    flent-aqm ndt7-server          the same, from the command-line program

One thread per connection drives a blocking socket, and waits in the kernel for as
much data as makes sense: in the lab, time passes by system calls, not by bytes.
"""
