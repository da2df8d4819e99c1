# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm calibrate`: finds the router model that fits measurements of a real router."""
