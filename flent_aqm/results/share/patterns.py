# SPDX-License-Identifier: GPL-3.0-or-later
"""Define regular expressions for data that reveal machines and people: addresses, users, keys."""

from __future__ import annotations

import re

END, START = r"(?![0-9A-Za-z])", r"(?<![0-9A-Za-z])"
_HEX = "[0-9A-F]"
_QUAD = r"(?:\d{1,3}\.){3}\d{1,3}"

IPV4 = re.compile(rf"(?<![\d.]){_QUAD}(?!\.?\d)")
# An IPv4 address with a port after a fifth dot, as tcpdump prints it.
IPV4_AND_PORT = re.compile(rf"(?<![\d.])({_QUAD})(?=\.(?:\d{{2,5}}|\d(?=\s*[>:]))"
                           r"(?![.\d]))")
# An IPv4 address with leading zeros: 192.168.001.007.
PADDED_IPV4 = re.compile(r"(?<![\d.])(?=[\d.]*\b0\d)(?:\d{3}\.){3}\d{3}(?![.\d])")
IPV4_REVERSE = re.compile(r"(?<![\d.])((?:\d{1,3}\.){1,3})(?=in-addr\.arpa)", re.IGNORECASE)
# Addresses as in the kernel's files in /proc/net, and as in C: with a port, with 0x, or without
# either if it is an address of a private network in either byte order.
HEX_ENDPOINT = re.compile(rf"{START}(?:{_HEX}{{32}}|{_HEX}{{8}})(?=:{_HEX}{{4}}{END})",
                          re.IGNORECASE)
HEX_IPV6 = re.compile(rf"{START}{_HEX}{{32}}{END}", re.IGNORECASE)
HEX_IPV4 = re.compile(rf"(?:(?<=0x)|{START}){_HEX}{{8}}{END}", re.IGNORECASE)
DECIMAL_IPV4 = re.compile(r"(?<![\w.])\d{9,10}(?![\w.])")
# It may end in ::, or be followed by the length of a prefix. It doesn't begin with the last number
# of an IPv4 address.
IPV6 = re.compile(rf"{START}(?<!\d\.){_HEX}{{0,4}}:[0-9A-F:]{{0,40}}:(?:{_QUAD}|{_HEX}{{1,4}})?"
                  rf"{END}", re.IGNORECASE)
# Addresses in names of hosts: ip-10-1-2-3.example, 10-1-2-3.nip.io. Not between more numbers, which
# are dates and lists.
DASHED_IPV4 = re.compile(r"(?<![\d])(?<!\d[-_])(\d{1,3})([-_])(\d{1,3})\2(\d{1,3})\2(\d{1,3})"
                         r"(?!\d)(?![-_]\d)")
# Text that must be on one side of such an address.
NAME_BEFORE = re.compile(r"[A-Za-z][._-]?$")
NAME_BEHIND = re.compile(r"[._-][A-Za-z]")
# fe80--1s4.ipv6-literal.net
IPV6_LITERAL = re.compile(r"([0-9A-F-]{2,45})(s\w{1,15})?(?=\.ipv6-literal\.net)", re.IGNORECASE)
# Hexadecimal digits in reverse order.
IPV6_REVERSE = re.compile(rf"{START}((?:{_HEX}\.){{8,32}})(?=ip6\.arpa)", re.IGNORECASE)

_PAIR, _LETTER = f"{_HEX}{{2}}", r"(?=[0-9.:\s-]*[A-F])"
MAC = re.compile(
    # Six pairs of digits, or eight of an EUI-64. Some systems print single digits.
    rf"{START}(?:{_PAIR}(?P<a>[:_-]){_PAIR}(?:(?P=a){_PAIR}){{4}}(?:(?P=a){_PAIR}){{0,2}}"
    rf"|{_HEX}{{1,2}}:(?:{_HEX}{{1,2}}:){{4}}{_HEX}{{1,2}}"
    # With dots or blanks there must be a letter: numbers are a version or a list.
    rf"|{_LETTER}{_PAIR}(?P<b>[. ]){_PAIR}(?:(?P=b){_PAIR}){{4}}(?:(?P=b){_PAIR}){{0,2}}"
    # Three times four digits as Cisco and Huawei print them, or twice six as HP does.
    rf"|{_HEX}{{4}}\.{_HEX}{{4}}\.{_HEX}{{4}}"
    rf"|(?<![0-9A-F][-:])(?:{_LETTER}{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}"
    rf"|{_HEX}{{4}}:{_HEX}{{4}}:{_HEX}{{4}}|{_LETTER}{_HEX}{{6}}[-:.]{_HEX}{{6}}))"
    rf"{END}(?![:-]{_HEX}{{1,4}}(?:[:-]|\b))"
    # In names of devices, such as enx525400abcdef. Without separators, if it is not the end of a
    # UUID, and not a time.
    rf"|(?<=enx|wlx|wwx|slx){_HEX}{{12}}{END}|(?<=0x){_HEX}{{12}}{END}"
    rf"|{START}{_HEX}{{6}}fffe{_HEX}{{6}}{END}"
    rf"|{START}(?<![0-9A-Fa-f]{{4}}-[0-9A-Fa-f]{{4}}-)(?!20\d\d[01]\d[0-3]\d[0-2]\d[0-5]\d)"
    rf"{_HEX}{{12}}{END}", re.IGNORECASE)
# The last part of a UUID of version 1 is the address of a card.
MAC_IN_UUID = re.compile(rf"({START}{_HEX}{{8}}-{_HEX}{{4}}-1{_HEX}{{3}}-[89AB]{_HEX}{{3}}-)"
                         rf"({_HEX}{{12}}){END}", re.IGNORECASE)

SSH = re.compile(r"\bssh://(?!root@router(?![\w.:-]))[^\s'\",;]+")
# User and password before a URL's host, and values in its query.
IN_URL = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]{0,30}://)([^\s/?#'\"<>]*)@")
IN_QUERY = re.compile(
    r"([?&#](?:\w[\w.-]{0,60})=)([^&;#\s'\"<>]+)(?=[&;#\s'\"<>]|$)", re.IGNORECASE)
# user@ before an address, or before a name that ends like a domain.
USER_AT = re.compile(
    rf"(?<![\w.+/:-])([\w.+-]{{1,64}})"
    rf"@(?=\[|{_QUAD}|[\w-]{{1,64}}(?:\.[\w-]{{1,64}}){{0,9}}\.[a-z]{{2}})", re.IGNORECASE)
# user@host without a domain: jonas@nas7.
USER_AT_NAME = re.compile(
    r"(?<![\w.+/:-])([A-Za-z][\w.+-]{0,63})@([A-Za-z][\w-]{0,63})(?![\w.-]*@)")
ENCODED_AT = re.compile(r"([\w.+-]{1,64})%40([\w.-]{1,100})", re.IGNORECASE)
# A slash, also as URLs, JSON, systemd and shells encode it.
_SLASH = r"(?:[/\\]{1,2}|\\/|%2F|%5C|%252F|\\x2f|\\u002f|&#x?2f;|&#47;)"
USER_FOLDER = re.compile(
    rf"((?:{_SLASH}(?:home|homes|users|people|students|staff|mail|u|media){_SLASH}|(?<![\w.~)}}])~))"
    r"((?:(?!%2F|%5C|%252F|&#)[^/\\\s:;,'\"<>|&])+)", re.IGNORECASE)
SYSTEMD_FOLDER = re.compile(r"(?<![A-Za-z0-9])(home-)([A-Za-z][\w.]*)(?=-|\.mount|\.slice)")
USER_VARIABLE = re.compile(r"\b((?:USER|LOGNAME|USERNAME|SUDO_USER)=)([^\s;,'\"]+)")
# Names of accounts in options and output of programs.
USER_OPTION = re.compile(
    r"(\b(?:ssh|scp|sftp|slogin|rsync|mosh|ssh-copy-id)\b[^|;\n]{0,200}?\s-l[ =]?"
    r"|\bsudo\s+-u[ =]?|\bsu\s+(?:-\s+|-l\s+)?|(?:^|\s)--(?:user(?:name)?|login|owner)[ =]"
    r"|\b(?:chown|chgrp)\s+(?:-\w+\s+)?|\b(?:for|invalid) user\s+"
    r"|\b(?:user(?:name)?|login|owner|logged in as|benutzer)\s*[:=]\s*)"
    r"(?!removed\b)([\"']?[\w.+-]{1,64})", re.IGNORECASE)
# The owner and the group in a list of files, and the account in a list of rights.
FILE_OWNER = re.compile(
    r"((?:^|(?<=\n))[bcdlps-][rwxsStT-]{9}[.+]?\s+\d+\s+|(?:^|(?<=\n))(?=\S+\s+ALL=))([\w.-]+)")
# Numbers of devices and telephones.
DEVICE_NUMBER = re.compile(
    r"(\b(?:imei|imsi|iccid|serial(?: ?(?:number|no|nr)\.?)?|s/n|asset tag)\s*[:=#]?\s*)"
    r"(?!removed\b)([\w-]*\d[\w-]*)|(?<![\w.])(\+)(\d{1,3}(?:[ /()-]{0,2}\d{2,5}){2,5})(?![\w.])",
    re.IGNORECASE)
USER_ID = re.compile(r"(\b(?:[ug]id|groups)=\d+\(|(?<=\)),\d+\()([^)\s]{1,64})(?=\))")
GROUP_IN_LIST = re.compile(r"((?<=\),)\d+\()([^)\s]{1,64})(?=\))")
# The name of a Wi-Fi network.
NETWORK = re.compile(
    r"(\bE?SSIDs?\b[\"']?\s*(?::=|[:=])?\s*|\bwpa_passphrase\s+)"
    r"(?![:=\s]*removed\b)(\"[^\"]*\"|'[^']*'|[^\s,;]+)", re.IGNORECASE)

_SECRET = (
    r"(?:pass(?:w(?:or)?ds?|phrase|code|wort|wd)?|passwort|kennwort|pwd?|pin|psk|secrets?|token|"
    r"(?:api|access|private|secret)[_-]?key|auth(?:orization|enticate)?|bearer|credentials?|hmac|"
    r"session(?:[_-]?id)?|sig(?:nature)?|otp|community|key|jwt)")
_SCHEMES = "bearer|basic|digest|token|negotiate|apikey"
# Not a sign or a word between a key and a value that was replaced before.
_VALUE = (r"""(?P<secret>"[^"]*"|'[^']*'|"""
          rf"""(?!(?:(?:is|was|ist|{_SCHEMES})\s+|[:=>]+\s*)?removed\b)[^\s,;&|'"<>]+)""")
_SCHEME = rf"(?:(?:{_SCHEMES})\s+)?"
_SIGN = r"[\"']?\s*(?::=|=>|==|[:=])\s*"
# Passwords, tokens and other credentials in command lines, messages to servers, and sentences. The
# group `secret` of each pattern is replaced.
CREDENTIALS = tuple(re.compile(text, re.IGNORECASE | re.DOTALL) for text in (
    r"(?P<secret>-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|$))",
    r"\b(?:set-)?cookie2?:\s*(?P<secret>[^'\"\n]+)",
    rf"\b(?:proxy-)?authorization\b{_SIGN}[\"']?{_SCHEME}{_VALUE}",
    rf"\bbearer\s+{_VALUE}", r"\bbasic\s+(?P<secret>[A-Za-z0-9+/]{6,}={0,2})",
    # name=value, name: value, "name": "value"; --name value; name value
    rf"(?:^|(?<![A-Za-z]))(?:[\w.-]*[_.-])?{_SECRET}(?:[_-]\w+)?{_SIGN}{_SCHEME}{_VALUE}",
    rf"\w*(?:passw(?:or)?d|passphrase|secret|token)\w*{_SIGN}{_VALUE}",
    rf"(?:^|\s)--?(?:[\w-]*-)?{_SECRET}(?:-\w+)?[ =]+{_VALUE}",
    (r"\b(?:password|passphrase|passwd|passwort|kennwort|secret|token)\s+"
     rf"(?:is\s+|was\s+|ist\s+)?{_VALUE}"),
    # Options of single programs.
    rf"\bsshpass\s+-p\s*{_VALUE}", rf"(?:^|\s)-Z[ =,]?{_VALUE}",
    (r"(?:^|\s)(?:-u|-U|--user|--proxy-user|--userpwd)[ =]?"
     r"(?P<secret>[^\s:'\"]+:[^\s'\"]+)"),
    rf"\b(?:mysql\w*|mariadb\w*)\b[^|;\n]*?\s-p{_VALUE}",
    rf"\b(?:mosquitto_\w+|ipmitool|snmp\w+|nmcli)\b[^|;\n]*?\s-[PAXc]\s*{_VALUE}",
    rf"\bwpa_passphrase\s+\S+\s+{_VALUE}",
    # Forms of tokens of known issuers.
    r"(?P<secret>\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?)",
    (r"(?P<secret>\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{10,}|AKIA[0-9A-Z]{12,}|"
     r"xox[abeprs]-[\w-]{8,}|sk-[\w-]{16,}|sk_(?:live|test)_\w+|AIza[\w-]{20,}|hf_\w{16,}|"
     r"npm_\w{16,}|pypi-[\w-]{16,}|dckr_pat_[\w-]{8,}))"),
    r"\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\w+)\s+(?P<secret>AAAA[\w+/=]+(?:\s+\S+@\S+)?)",
    r"(?P<secret>\$(?:[1-9]\w?|argon2\w*|2[aby]|y|apr1)\$[./\w$=,+-]{8,})",
    r"\bSHA256:(?P<secret>[A-Za-z0-9+/]{43}=?)",
))
# Long text with digits, upper-case and lower-case letters, which is probably random.
RANDOM_TEXT = re.compile(
    r"(?<![\w+/=.-])(?=[A-Za-z0-9+/=]*[0-9])(?=[A-Za-z0-9+/=]*[A-Z])(?=[A-Za-z0-9+/=]*[a-z])"
    r"[A-Za-z0-9+/]{20,}={0,2}(?![\w+/=.-])")

# Names of hosts in messages and options of programs. The group `host` of each pattern is the name.
_HOST = r"(?P<host>[A-Za-z0-9_][\w.-]*)"
HOSTS_IN_MESSAGES = tuple(re.compile(text, re.IGNORECASE) for text in (
    (rf"(?<![\w.-]){_HOST}: (?:(?:host|network|destination)[\w ]* (?:unreachable|down)|"
     r"name or service not known|temporary failure in name resolution|no address associated with|"
     r"nodename nor servname|unknown host|host not found|no such host|name does not resolve|"
     r"server can't find|name has no usable address)"),
    (r"\b(?:resolve(?: host(?:name)?)?|unknown host|connect(?:ion|ed|ing)? (?:to|from|by|with)"
     r"(?: host)?|lookup|getaddrinfo|gethostbyname|host ?name|known_hosts for|"
     r"host key for(?: ip address)?|from host|to host|on host|trying|log(?:ged)? in(?:to)?|"
     r"can't find|closed by|reset by|route to|reached|server ?name|nodename|netbios name|"
     r"reply from|bytes from|traceroute to|ping|scan report for|no answer from|nxdomain|"
     rf"timed? out (?:to|from))\s*[:=]?\s*[\"'\[(]?{_HOST}"),
    rf"\bfrom\s+{_HOST}(?= (?:\(|icmp_|port )|:|$)", rf"\bLinux {_HOST} \d+\.\d+",
    rf"\bssh\s+(?:-[A-Za-z]+\s+(?:[^\s-]\S*\s+)?)*{_HOST}(?=\s|$)",
    (r"(?:^|\s)(?:-H|-c|-s|--host(?:name)?|--server|--client|--address|--connect|--target)[ =]"
     + _HOST),
    (r"\b(?:hosts?|host ?names?|servers?|router|gateway|nas|dns|machine|computer)\s*[:=]\s*"
     rf"[\"']?{_HOST}"),
    rf"(?<![\\\w])\\\\{_HOST}(?=\\)", rf"\b\w+@{_HOST}:[~/]",
    r"\b(?P<host>[\w-]+)\.(?:local|lan|home|fritz\.box|internal|localdomain)\b",
))
# A domain's name. Two labels need a known top-level domain, because file names look alike.
_TOP = (
    "com|net|org|info|biz|edu|gov|mil|int|io|dev|app|cloud|online|site|xyz|tech|local|lan|home|"
    "box|internal|intranet|corp|localdomain|domain|private|arpa|example|test|invalid|onion|me|tv|"
    "eu|de|at|ch|fr|uk|nl|be|lu|it|es|pt|pl|cz|sk|hu|ro|bg|gr|tr|ru|ua|by|lt|lv|ee|fi|se|no|dk|is|"
    "ie|us|ca|mx|br|ar|cl|co|pe|au|nz|jp|cn|kr|tw|hk|sg|my|th|vn|id|ph|in|pk|ir|il|ae|sa|za|ng|ke|"
    "eg|ma|li|mt|cy|hr|si|rs|ba|mk|al|md|ge|am|az|kz|uz|ai|cc|ws|name|pro|mobi|tel|network|"
    "systems|space")
# A domain of three or more parts in the name of a data file: Flent puts _ in place of dots. Fewer
# top-level domains count here, because words with _ between them are usual in such names.
DOMAIN_IN_FILE_NAME = re.compile(
    rf"{START}([a-z0-9][a-z0-9-]*)((?:_[a-z0-9][a-z0-9-]*)+"
    rf"_(?:com|net|org|info|biz|edu|gov|mil|io|dev|local|lan|home|internal)){END}", re.IGNORECASE)
DOMAIN_NAME = re.compile(
    rf"(?<![\w@./%-])(?=[\w.-]*[a-z])(?:(?:[a-z0-9_][a-z0-9_-]{{0,62}}\.)+(?:{_TOP})"
    r"|(?:[a-z0-9_][a-z0-9_-]{0,62}\.){2,}[a-z]{2,18})\.?(?![\w-])", re.IGNORECASE)
