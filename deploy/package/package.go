// Package units has the files with which systemd runs a NATS server, a coordinator and a node. Release packages have the same ones.
package units

import "embed"

// Files are the units, as in rookery-node.service, and the configuration files that those of the coordinator and the node name, as in node.yaml.
// Their programs are where a package puts them: /usr/bin/rookery, and nats-server in /usr/lib/rookery.
//
//go:embed *.service coordinator.yaml node.yaml
var Files embed.FS
