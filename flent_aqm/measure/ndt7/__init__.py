# SPDX-License-Identifier: GPL-3.0-or-later
"""NDT7 by version 0.11 of the ndt7 protocol specification: the server's side, and a browser as
the client.

One thread per connection drives a blocking socket, and waits in the kernel for as
much data as makes sense: in the lab, time passes by system calls, not by bytes.
"""
