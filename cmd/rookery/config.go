package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

func configCommand(l *link) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "List, read, write and remove configs",
		Long: `List, read, write and remove configs. A config is a file of up to 256 KiB that specs name; containers find it below /run/configs.
The bucket rookery_configs stores configs. A running container keeps the content that it started with. Keep secrets in Podman, not
in configs.`,
		Example: `  rookery config put demo/web-conf web.conf
  rookery config ls demo`,
	}
	cmd.AddCommand(configListCommand(l), configGetCommand(l), configPutCommand(l), configRemoveCommand(l))
	return cmd
}

// inConfigs calls a function with the bucket of configs.
func inConfigs(cmd *cobra.Command, l *link, part func(ctx context.Context, configs bus.Bucket) error) error {
	b, done, err := l.open("rookery config")
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(cmd.Context(), busTimeout)
	defer cancel()
	configs, err := b.Bucket(ctx, bus.BucketConfigs)
	if err != nil {
		return err
	}
	return part(ctx, configs)
}

// configKey reads the name of a config, as demo/web-conf.
func configKey(cmd *cobra.Command, text string) (string, error) {
	namespace, name, both := strings.Cut(text, "/")
	if !both || !events.ValidName(namespace) || !events.ValidName(name) {
		return "", usage(cmd, fmt.Errorf("%q is not the name of a config: want NAMESPACE/NAME, as in demo/web-conf", text))
	}
	return events.ConfigKey(namespace, name), nil
}

// onConfig runs a part of a command on a config that exists.
func onConfig(cmd *cobra.Command, l *link, name string, part func(ctx context.Context, configs bus.Bucket, e bus.Entry) error) error {
	key, err := configKey(cmd, name)
	if err != nil {
		return err
	}
	return inConfigs(cmd, l, func(ctx context.Context, configs bus.Bucket) error {
		e, err := configs.Get(ctx, key)
		switch {
		case errors.Is(err, bus.ErrNoKey):
			return fmt.Errorf("there is no config %s: see rookery config ls", name)
		case err != nil:
			return err
		}
		return part(ctx, configs, e)
	})
}

// listedConfig is a line of the list.
type listedConfig struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Bytes     int       `json:"bytes"`
	Stored    time.Time `json:"stored"`
}

var configColumns = []grid.Column{{Head: "CONFIG"}, {Head: "BYTES"}, {Head: "STORED"}}

func configListCommand(l *link) *cobra.Command {
	each := &list{link: l}
	cmd := &cobra.Command{
		Use:     "ls [NAMESPACE]",
		Aliases: []string{"list"},
		Short:   "List configs",
		Long:    "List the configs of one namespace, or of all namespaces.",
		Example: `  rookery config ls
  rookery config ls demo --sort bytes
  rookery config ls --output name`,
		Args: usageOf(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				each.chosen.namespace = args[0]
			}
			if err := each.chosen.check(cmd, configColumns); err != nil {
				return err
			}
			return inConfigs(cmd, l, func(ctx context.Context, configs bus.Bucket) error {
				p, err := configsPage(ctx, configs, each.chosen)
				if err != nil {
					return err
				}
				return each.print(cmd.OutOrStdout(), each.chosen.order(p))
			})
		},
	}
	each.out.listFlag(cmd)
	cmd.Flags().StringVarP(&each.chosen.namespace, "namespace", "n", "", "show this `namespace` alone")
	each.chosen.sortFlag(cmd)
	return cmd
}

// configsPage lists the configs that are chosen. A namespace without configs is an error.
func configsPage(ctx context.Context, configs bus.Bucket, chosen selection) (page, error) {
	p := page{grid: grid.Table{Columns: configColumns}}
	all, err := configs.All(ctx)
	if err != nil {
		return p, err
	}
	slices.SortFunc(all, func(a, b bus.Entry) int { return strings.Compare(a.Key, b.Key) })
	namespaces := map[string]bool{}
	for _, e := range all {
		namespace, name, _ := strings.Cut(e.Key, ".")
		namespaces[namespace] = true
		if !chosen.has(namespace) {
			continue
		}
		key := namespace + "/" + name
		p.values = append(p.values, value{key, listedConfig{namespace, name, len(e.Value), e.Stored}})
		p.grid.Rows = append(p.grid.Rows, grid.Row{Key: key, Cells: []grid.Cell{
			grid.Plain(key), grid.Plain(strconv.Itoa(len(e.Value))), grid.Plain(e.Stored.Local().Format(time.DateTime)),
		}})
	}
	if chosen.namespace == "" {
		return p, nil
	}
	return p, missing("namespace with configs", chosen.namespace, slices.Sorted(maps.Keys(namespaces)))
}

func configGetCommand(l *link) *cobra.Command {
	return &cobra.Command{
		Use:     "get NAMESPACE/NAME",
		Short:   "Print a config",
		Long:    "Print the content of a config, byte for byte.",
		Example: `  rookery config get demo/web-conf > web.conf`,
		Args:    arguments("NAMESPACE/NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onConfig(cmd, l, args[0], func(_ context.Context, _ bus.Bucket, e bus.Entry) error {
				_, err := cmd.OutOrStdout().Write(e.Value)
				return err
			})
		},
	}
}

func configPutCommand(l *link) *cobra.Command {
	return &cobra.Command{
		Use:   "put NAMESPACE/NAME FILE",
		Short: "Write a config from a file",
		Long: `Write a config from a file; - is standard input. Running containers keep the old content, and new containers get the new one.
To replace all containers of a service, use rookery restart.`,
		Example: `  rookery config put demo/web-conf web.conf
The same with the nats CLI:
  nats kv put rookery_configs demo.web-conf < web.conf`,
		Args: arguments("NAMESPACE/NAME", "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := configKey(cmd, args[0])
			if err != nil {
				return err
			}
			value, err := readFile(cmd.InOrStdin(), args[1])
			if err != nil {
				return err
			}
			if len(value) == 0 || len(value) > bus.MaxConfig {
				return fmt.Errorf("%s has %d bytes: a config has 1 to %d", args[1], len(value), bus.MaxConfig)
			}
			return inConfigs(cmd, l, func(ctx context.Context, configs bus.Bucket) error {
				if err := configs.Set(ctx, key, value); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "config %s has %d bytes\n", args[0], len(value))
				return err
			})
		},
	}
}

func configRemoveCommand(l *link) *cobra.Command {
	return &cobra.Command{
		Use:     "rm NAMESPACE/NAME",
		Aliases: []string{"delete"},
		Short:   "Remove a config",
		Long:    "Remove a config. New instances whose spec names it then fail with the reason config-missing.",
		Example: `  rookery config rm demo/web-conf`,
		Args:    arguments("NAMESPACE/NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onConfig(cmd, l, args[0], func(ctx context.Context, configs bus.Bucket, e bus.Entry) error {
				return configs.Delete(ctx, e.Key, e.Revision)
			})
		},
	}
}
