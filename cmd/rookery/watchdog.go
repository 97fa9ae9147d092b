package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/node/podman"
	"github.com/rookery-project/rookery/node/podman/watchdog"
)

// watchdogName is the command that a node begins its watchdog with.
const watchdogName = "watchdog"

// watchdogCommand is for nodes alone: people have no use for it.
func watchdogCommand() *cobra.Command {
	return &cobra.Command{
		Use:    watchdogName,
		Short:  "End exclusive containers whose node is not heard: a node begins it by itself",
		Hidden: true,
		Args:   arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			listener, err := watchdog.Inherited()
			if err != nil {
				return err
			}
			return watchdog.Serve(cmd.Context(), listener)
		},
	}
}

// useWatchdog has a watchdog end what is exclusive on the host. Its socket is beside Podman's, of this node: one that begins anew
// finds the watchdog of the process before.
func useWatchdog(engine *podman.Engine, uri, node string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	folder := filepath.Dir(strings.TrimPrefix(uri, "unix://"))
	engine.Watchdog(filepath.Join(folder, "rookery-"+node+".sock"), self, watchdogName)
	return nil
}
