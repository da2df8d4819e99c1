# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# A queue without a scheme, from a kernel that the user built. Its options, words separated by
# commas, go to tc unchanged.

foreign=yes

scheme_requires() {
    printf '%s\n' "a kernel with sch_${aqm}, and for options a tc that knows them (flent-aqm kernel build NAME --qdisc sch_${aqm}.c --tc q_${aqm}.c)"
}

scheme_qdisc() {
    words=${aqm}
    for parameter in "$@"; do
        case ${parameter} in
            options=-) ;;
            options=*)
                rest=${parameter#options=},
                while [ -n "${rest}" ]; do
                    words="${words} ${rest%%,*}"
                    rest=${rest#*,}
                done
                ;;
            *) die "aqm_${parameter}: flent-aqm does not know the parameters of ${aqm}; give them in aqm_options" ;;
        esac
    done
    printf '%s' "${words}"
}
