# SPDX-License-Identifier: GPL-3.0-or-later
"""Serves NDT7 by version 0.11 of the ndt7 protocol specification.

One thread per connection uses a blocking socket, and waits in the kernel for as much data as makes
sense: in the lab, virtual time passes by system calls, not by bytes.
"""
