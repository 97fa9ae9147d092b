package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// completeTimeout is how long a shell waits for names after the operator presses Tab.
const completeTimeout = time.Second

// offered returns the names that complete a first argument.
type offered func(ctx context.Context, b *bus.JetStream) []string

// completeNames adds shell completion to every command below this one. The first argument completes with names from the bus, of the
// kind that the command's use names. Flags with a fixed set of values complete with these.
func completeNames(cmd *cobra.Command, l *link) {
	for _, c := range cmd.Commands() {
		completeNames(c, l)
	}
	if cmd.Flags().Lookup("busy") != nil {
		policies := []string{string(events.BusyReject), string(events.BusyQueue), string(events.BusySupersede)}
		mustComplete(cmd, "busy", policies)
	}
	if offer := offeredFor(cmd); offer != nil && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			switch {
			case len(args) == 0:
				return l.complete(offer, begun), cobra.ShellCompDirectiveNoFileComp
			case strings.Contains(cmd.Use, "FILE..."):
				return []string{"json", "yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
}

// mustComplete makes shells complete a flag with these values.
func mustComplete(cmd *cobra.Command, flag string, values []string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("two completions for one flag: " + err.Error())
	}
}

// offeredFor returns the names for the first argument of a command, by its use; nil if completion does not know the kind.
func offeredFor(cmd *cobra.Command) offered {
	words := slices.DeleteFunc(strings.Fields(cmd.Use), func(word string) bool { return strings.HasPrefix(word, "[-") }) // flags
	if len(words) == 1 {
		return nil
	}
	bucket, first := bus.BucketServices, words[1]
	if cmd.HasParent() && cmd.Parent().Name() == "config" {
		bucket = bus.BucketConfigs
	}
	switch {
	case cmd.HasParent() && cmd.Parent().Name() == "group":
		return groupNames
	case strings.HasPrefix(first, "NAMESPACE/NAME") && cmd.Name() == "promote":
		return namesIn(bus.BucketOperations, serviceName)
	case strings.HasPrefix(first, "NAMESPACE/NAME"):
		return namesIn(bucket, serviceName)
	case first == "{NAMESPACE/NAME[/ORDINAL]|NODE}":
		services, nodes := namesIn(bucket, serviceName), namesIn(bus.BucketNodes, itself)
		return func(ctx context.Context, b *bus.JetStream) []string {
			return append(services(ctx, b), nodes(ctx, b)...)
		}
	case first == "[NAMESPACE[/NAME]]" && cmd.Name() == "ops":
		return namesIn(bus.BucketOperations, namespace, serviceName)
	case first == "[NAMESPACE[/NAME]]":
		return namesIn(bucket, namespace, serviceName)
	case strings.Trim(first, "[]") == "NAMESPACE":
		return namesIn(bucket, namespace)
	case strings.Trim(first, "[]") == "NODE":
		return namesIn(bus.BucketNodes, itself)
	}
	return nil
}

func itself(key string) string { return key }

func serviceName(key string) string { return strings.Replace(key, ".", "/", 1) }

func namespace(key string) string {
	name, _, _ := strings.Cut(key, ".")
	return name
}

// namesIn offers the names that each of the functions derives from the keys of a bucket.
func namesIn(bucket string, names ...func(key string) string) offered {
	return func(ctx context.Context, b *bus.JetStream) []string {
		keys, err := keysOf(ctx, b, bucket)
		if err != nil {
			return nil // a shell shows no errors: it completes nothing
		}
		var all []string
		for _, name := range names {
			for _, key := range keys {
				all = append(all, name(key))
			}
		}
		return all
	}
}

func keysOf(ctx context.Context, b *bus.JetStream, bucket string) (all []string, err error) {
	if bucket == bus.BucketConfigs {
		return b.Keys(ctx, bucket)
	}
	changes, _, err := changesIn(ctx, b, bucket, api.ListQuestion{})
	for _, c := range changes {
		all = append(all, c.Key)
	}
	return all, err
}

// complete returns the names with this prefix; none if the bus does not answer in time.
func (l *link) complete(offer offered, begun string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), completeTimeout)
	defer cancel()
	found := make(chan []string, 1)
	go func() {
		b, done, err := l.open("rookery completion", nats.Timeout(completeTimeout))
		if err != nil {
			found <- nil
			return
		}
		defer done()
		found <- offer(ctx, b)
	}()
	select {
	case <-ctx.Done():
		return nil
	case all := <-found:
		all = slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, begun) })
		slices.Sort(all)
		return slices.Compact(all)
	}
}

// groupNames offers the groups in the log that have begun and not ended.
func groupNames(ctx context.Context, b *bus.JetStream) []string {
	last, err := b.Latest(ctx, bus.Log, events.LogRoot+".group.>")
	if err != nil {
		return nil
	}
	begun := map[string]bool{}
	for _, m := range last { // ordered by sequence
		t := strings.Split(m.Subject, ".")
		const namespace, name, event = 3, 4, 5
		if len(t) == event+1 { // an event of the group itself, and not of its command
			begun[t[namespace]+"/"+t[name]] = t[event] != events.GroupEnded{}.Kind().Name
		}
	}
	var all []string
	for group, under := range begun {
		if under {
			all = append(all, group)
		}
	}
	return all
}
