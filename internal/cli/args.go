package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// NoArgs rejects arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("argument %q: `%s` accepts no arguments (see `%s --help`)", args[0], cmd.CommandPath(), cmd.CommandPath())
}

// ExactlyOneArg requires exactly one argument. The error names the kind of argument and shows an example.
func ExactlyOneArg(command, argument, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s: %d arguments given: requires exactly one %s, for example `berth %s %s`", command, len(args), argument, command, example)
		}
		return nil
	}
}

// AtLeastOneArg requires one or more arguments. The error names the kind of argument and shows an example.
func AtLeastOneArg(command, argument, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s: no %s given: requires one or more, for example `berth %s %s`", command, argument, command, example)
		}
		return nil
	}
}

// OnePodArg requires exactly one pod, as [PodName] reads it.
func OnePodArg(command string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := ExactlyOneArg(command, "pod", "web-1 -n shop")(cmd, args); err != nil {
			return err
		}
		namespace, name, qualified := strings.Cut(args[0], "/")
		if namespace == "" || qualified && (name == "" || strings.Contains(name, "/")) {
			return fmt.Errorf("%s: %q: must be NAME, NAMESPACE/NAME or pod/NAME, for example `berth %s shop/web-1`", command, args[0], command)
		}
		return nil
	}
}

// PodName returns the namespace and name of an argument of the form NAME, NAMESPACE/NAME or pod/NAME. namespace is the
// value of -n. fallback returns the namespace if both name none.
func PodName(arg, namespace string, fallback func() string) (string, string, error) {
	prefix, name, qualified := strings.Cut(arg, "/")
	switch {
	case !qualified:
		name = arg
	case prefix == "pod" || prefix == "pods" || prefix == "po":
	case namespace != "" && namespace != prefix:
		return "", "", fmt.Errorf("--namespace %s: pod %s is in another namespace: use only one of them", namespace, arg)
	default:
		namespace = prefix
	}
	if namespace == "" {
		namespace = fallback()
	}
	return namespace, name, nil
}

// NodeNames returns the names of arguments of the form NAME or node/NAME.
func NodeNames(args []string) []string {
	names := make([]string, len(args))
	for i, a := range args {
		names[i] = a
		if kind, name, found := strings.Cut(a, "/"); found && (kind == "node" || kind == "nodes" || kind == "no") {
			names[i] = name
		}
	}
	return names
}
