# SPDX-License-Identifier: GPL-3.0-or-later
"""The page that runs M-Lab's ndt7.js and tells browser.py all that it says, in the form of
M-Lab's command-line client."""

PAGE = """<!DOCTYPE html>
<meta charset="utf-8">
<title>NDT7</title>
<script src="ndt7.js"></script>
<script>
'use strict';
const asked = new URLSearchParams(location.search);
const test = asked.get('direction');
let last = Promise.resolve();
function tell(key, value) {
  const body = JSON.stringify({Key: key, Value: Object.assign({Test: test}, value)});
  last = last.then(() => fetch('told', {method: 'POST', body: body}));
}
const heard = {
  error: (fault) => tell('error', {Failure: String(fault)}),
  [test + 'Measurement']: (one) => tell('measurement', one.Source === 'server' ? one.Data : {
    Origin: 'client',
    AppInfo: {ElapsedTime: Math.round(one.Data.ElapsedTime * 1e6), NumBytes: one.Data.NumBytes}}),
  [test + 'Complete']: () => tell('complete', {}),
};
const config = {server: asked.get('server'), protocol: asked.get('protocol'),
                mlabDataPolicyInapplicable: true, metadata: {client_name: 'flent-aqm-browser'}};
ndt7[test + 'Test'](config, heard, ndt7.discoverServerURLs(config, heard))
    .catch((fault) => tell('error', {Failure: String(fault)}))
    .finally(() => last.then(() => fetch('end', {method: 'POST'})));
</script>
"""
