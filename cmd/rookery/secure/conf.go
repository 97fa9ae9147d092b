package secure

import "text/template"

// configuration is a server's. The paths in it are relative: the server must be started in its folder.
var configuration = template.Must(template.New("nats.conf").Parse(`# A NATS server of Rookery. Start it in this folder: nats-server --config nats.conf
server_name: {{.Name}}
listen: "{{.Listens}}:{{.ClientPort}}"
max_payload: 1MB

# Clients may begin with TLS, or wait for the server's greeting. Nothing else is sent before TLS.
tls {
  cert_file: "server.crt"
  key_file: "server.key"
  ca_file: "ca.crt"
  handshake_first: auto
  timeout: 5
}

jetstream {
  store_dir: "data"
  sync_interval: always
  cipher: chachapoly
  include "encryption.conf"
}

operator: {{.Operator}}
system_account: {{.System}}
resolver {
  type: full
  dir: "accounts"
  allow_delete: false
  interval: "10s"
}
resolver_preload: {
{{range $account, $token := .Tokens}}  {{$account}}: {{$token}}
{{end}}}
{{if .Others}}
cluster {
  name: rookery
  listen: "{{.Listens}}:{{.ClusterPort}}"
  routes: [{{range .Others}}
    "{{.RouteURL}}"{{end}}
  ]
  tls {
    cert_file: "server.crt"
    key_file: "server.key"
    ca_file: "ca.crt"
    verify: true
    timeout: 5
  }
}
{{end}}`))
