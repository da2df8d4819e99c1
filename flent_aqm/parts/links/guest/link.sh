# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# A link that plays a schedule, in the modem's place: see lab/path_model.py for $STEP. devices.sh is
# there in the step modem.

case $STEP in
    modem) plays_schedule "$LINK_DOWN" "$LINK_UP" ;;
    begin) echo now >/sys/module/sch_lablink/parameters/start ;;
    end) cat /sys/module/sch_lablink/parameters/link ;;
esac
