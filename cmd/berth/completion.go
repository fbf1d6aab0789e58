package main

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	kubectl "k8s.io/kubectl/pkg/cmd"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/cli"
)

const (
	// completionTimeout is the maximum duration of the requests of a shell completion.
	completionTimeout = 2 * time.Second
	// maxCompletions is the maximum number of objects that a shell completion requests.
	maxCompletions = 1000
)

// completionFunc returns the completions of an argument or a flag value.
type completionFunc = cobra.CompletionFunc

// addCompletions adds shell completion of arguments and flag values to all commands.
func addCompletions(root *cobra.Command) {
	arguments := map[string]completionFunc{
		"berth explain pod":          onlyFirst(completePods),
		"berth explain displacement": onlyFirst(completeDisplaced),
		"berth explain node":         onlyFirst(completeNodes),
		"berth drain":                completeNodes,
		"berth kubectl":              completeKubectl,
	}
	flags := map[string]completionFunc{
		"berth explain pod --namespace":          completeNamespaces,
		"berth explain displacement --namespace": completeNamespaces,
		"berth queue --namespace":                completeNamespaces,
		"berth evictions --namespace":            completeNamespaces,
		"berth evictions --node":                 completeNodes,
		"berth evictions --cause":                completeCauses,
		"berth load --namespace":                 completeNamespaces,
		"berth agent --node-name":                completeNodes,
	}
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		if f := arguments[path]; f != nil {
			cmd.ValidArgsFunction = f
		}
		for name, f := range flags {
			if command, flag, _ := strings.Cut(name, " --"); command == path {
				_ = cmd.RegisterFlagCompletionFunc(flag, f)
			}
		}
		if cmd.Flags().Lookup("context") != nil {
			_ = cmd.RegisterFlagCompletionFunc("context", completeContexts)
		}
		for _, c := range cmd.Commands() {
			add(c)
		}
	}
	add(root)
}

// onlyFirst completes the first argument only.
func onlyFirst(complete completionFunc) completionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, prefix)
	}
}

// completeNames completes the names that list returns, without those that are already
// arguments. list gets a client of the cluster that the command would use. An unreachable
// cluster has no completions.
func completeNames(list func(ctx context.Context, client kubernetes.Interface, prefix string) []string) completionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		client := completionClient(cmd)
		if client == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
		defer cancel()
		var out []cobra.Completion
		for _, name := range list(ctx, client, prefix) {
			if strings.HasPrefix(name, prefix) && !slices.Contains(args, name) {
				out = append(out, name)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// completionClient returns a client of the cluster that the command would use, or nil if
// the command reads dump files.
func completionClient(cmd *cobra.Command) kubernetes.Interface {
	if f := cmd.Flags().Lookup("file"); f != nil && f.Changed {
		return nil
	}
	config, err := commandCluster(cmd).Config("berth-completion")
	if err != nil {
		return nil
	}
	config.Timeout = completionTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil
	}
	return client
}

// commandCluster returns the cluster that the flags of a command select.
func commandCluster(cmd *cobra.Command) *cli.Cluster {
	var c cli.Cluster
	c.Kubeconfig, _ = cmd.Flags().GetString("kubeconfig") // "" without the flag
	c.Context, _ = cmd.Flags().GetString("context")
	return &c
}

// commandNamespace returns the namespace of pod arguments without NAMESPACE/, and reports whether -n sets it.
func commandNamespace(cmd *cobra.Command) (namespace string, fromFlag bool) {
	if namespace, _ = cmd.Flags().GetString("namespace"); namespace != "" {
		return namespace, true
	}
	return commandCluster(cmd).Namespace(), false
}

func completeContexts(cmd *cobra.Command, _ []string, prefix string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, name := range commandCluster(cmd).Contexts() {
		if strings.HasPrefix(name, prefix) {
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

var (
	completeNodes = completeNames(func(ctx context.Context, client kubernetes.Interface, _ string) (out []string) {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: maxCompletions})
		if err != nil {
			return nil
		}
		for _, n := range list.Items {
			out = append(out, n.Name)
		}
		return out
	})
	completeNamespaces = completeNames(func(ctx context.Context, client kubernetes.Interface, _ string) (out []string) {
		list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{Limit: maxCompletions})
		if err != nil {
			return nil
		}
		for _, n := range list.Items {
			out = append(out, n.Name)
		}
		return out
	})
)

// completePods completes pod names. With -n it completes those of the namespace, otherwise also NAMESPACE/NAME of
// pods in other namespaces.
func completePods(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	defaultNamespace, only := commandNamespace(cmd)
	return completeNames(func(ctx context.Context, client kubernetes.Interface, prefix string) (out []string) {
		namespace, _, qualified := strings.Cut(prefix, "/")
		switch {
		case only:
			namespace = defaultNamespace
		case !qualified:
			namespace = ""
		}
		list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{Limit: maxCompletions})
		if err != nil {
			return nil
		}
		for _, p := range list.Items {
			out = append(out, podCompletion(p.Namespace, p.Name, defaultNamespace, qualified))
		}
		return out
	})(cmd, args, prefix)
}

// podCompletion returns the name of a pod as an argument: NAMESPACE/NAME, or NAME in the default namespace unless
// qualified is set.
func podCompletion(namespace, name, defaultNamespace string, qualified bool) string {
	if namespace == defaultNamespace && !qualified {
		return name
	}
	return namespace + "/" + name
}

// completeDisplaced returns the pods with a displacement record.
func completeDisplaced(cmd *cobra.Command, _ []string, prefix string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	source := recordSource{Cluster: *commandCluster(cmd)}
	source.journal, _ = cmd.Flags().GetString("journal")
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	defaultNamespace, only := commandNamespace(cmd)
	namespace := ""
	if only {
		namespace = defaultNamespace
	}
	list, err := source.read(ctx, io.Discard, namespace, "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, d := range list[:min(len(list), maxCompletions)] {
		name := podCompletion(d.Pod.Namespace, d.Pod.Name, defaultNamespace, strings.Contains(prefix, "/"))
		if strings.HasPrefix(name, prefix) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func completeCauses(_ *cobra.Command, _ []string, prefix string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, c := range displacement.Causes() {
		if name := c.String(); strings.HasPrefix(name, prefix) {
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func completeKubectl(_ *cobra.Command, args []string, prefix string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	flags, err := kubectlConfigFlags(args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	timeout := completionTimeout.String()
	flags.Timeout = &timeout
	var b bytes.Buffer
	line := append(append([]string{cobra.ShellCompRequestCmd}, args...), prefix)
	root := kubectl.NewKubectlCommand(kubectl.KubectlOptions{Arguments: append([]string{"kubectl"}, line...), ConfigFlags: flags,
		IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &b, ErrOut: io.Discard}})
	root.SetOut(&b)
	root.SetErr(io.Discard)
	root.SetArgs(line)
	if err := root.Execute(); err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		if number, ok := strings.CutPrefix(line, ":"); ok { // the last line
			directive, _ := strconv.Atoi(number)
			return out, cobra.ShellCompDirective(directive)
		}
		out = append(out, line)
	}
	return out, cobra.ShellCompDirectiveDefault
}
