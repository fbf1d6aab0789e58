package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/config"
)

// TestUpstreamFlags checks that a command accepts each flag of the component that it replaces, or
// names what replaces the flag.
func TestUpstreamFlags(t *testing.T) {
	text, err := os.ReadFile("testdata/upstream_flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for section := range strings.SplitSeq(strings.TrimPrefix(string(text), "# "), "\n# ") {
		title, names, _ := strings.Cut(section, "\n")
		command, _, _ := strings.Cut(title, ":")
		flags := strings.Fields(names)
		if len(flags) < 30 {
			t.Errorf("%s: got %d flags in testdata, want at least 30", command, len(flags))
		}
		checkUpstreamFlags(t, command, flags)
		all = append(all, flags...)
	}
	checkUpstreamFlags(t, "up", all)
}

// checkUpstreamFlags checks that a command has flags, or that the error names their replacement.
func checkUpstreamFlags(t *testing.T, command string, flags []string) {
	t.Helper()
	cmd := findCommand(t, command)
	for _, name := range flags {
		if hasFlag(cmd, name) {
			continue
		}
		if hint := flagHint(cmd, name); !strings.HasPrefix(hint, "--"+name+" is a flag of ") {
			t.Errorf("berth %s --%s: got %q, want what replaces the flag", command, name, hint)
		}
	}
}

// TestUpstreamFlagHints checks the hint for each flag that internal/cli has, with each command: the command has the
// flags that the hint names, and the fields of configuration files exist.
func TestUpstreamFlagHints(t *testing.T) {
	hints := 0
	names := upstreamFlagNames(t)
	for _, command := range []string{"agent", "controller", "descheduler", "drain", "scheduler", "up"} {
		cmd := findCommand(t, command)
		for _, name := range names {
			_, hint, found := strings.Cut(flagHint(cmd, name), "does not have: ")
			if hasFlag(cmd, name) || !found {
				continue
			}
			hints++
			for _, problem := range slices.Concat(missingFlags(t, cmd, hint), missingFields(t, hint)) {
				t.Errorf("berth %s --%s: %q: %s", command, name, hint, problem)
			}
		}
	}
	if hints < 500 {
		t.Errorf("got %d hints, want at least 500", hints)
	}
}

// upstreamFlagNames returns the keys of the maps in internal/cli/upstream_*.go.
func upstreamFlagNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../internal/cli/upstream_*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("got files %v, %v", files, err)
	}
	names := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for n := range ast.Preorder(file) {
			if pair, ok := n.(*ast.KeyValueExpr); ok {
				if key, ok := pair.Key.(*ast.BasicLit); ok {
					names[strings.Trim(key.Value, `"`)] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func findCommand(t *testing.T, name string) *cobra.Command {
	t.Helper()
	cmd, _, err := rootCommand().Find([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

func hasFlag(cmd *cobra.Command, name string) bool {
	return cmd.Flags().Lookup(name) != nil || cmd.InheritedFlags().Lookup(name) != nil
}

func flagHint(cmd *cobra.Command, name string) string {
	if err := cli.FlagError(cmd, cmd.Flags().Parse([]string{"--" + name + "=x"})); err != nil {
		return err.Error()
	}
	return ""
}

var (
	otherCommand = regexp.MustCompile("`berth ([a-z]+)([^`]*)`")
	flagsOfOther = regexp.MustCompile("--([a-z0-9-]+) of ((?:(?:, | and |, and )?`berth [a-z]+`)+)")
	shellCommand = regexp.MustCompile(`\$\([^)]*\)`)
	namedFlag    = regexp.MustCompile(`(?:^|[^\w-])--?([a-z][a-z0-9-]*)`)
)

// missingFlags returns the flags in a hint that its command lacks. A flag in `berth COMMAND --FLAG` or in --FLAG of
// `berth COMMAND` belongs to that command.
func missingFlags(t *testing.T, cmd *cobra.Command, hint string) (problems []string) {
	t.Helper()
	check := func(cmd *cobra.Command, text string) {
		for _, m := range namedFlag.FindAllStringSubmatch(text, -1) {
			if !hasFlag(cmd, m[1]) && (len(m[1]) > 1 || cmd.Flags().ShorthandLookup(m[1]) == nil && cmd.InheritedFlags().ShorthandLookup(m[1]) == nil) {
				problems = append(problems, fmt.Sprintf("%s has no flag %s", cmd.CommandPath(), m[1]))
			}
		}
	}
	for _, m := range flagsOfOther.FindAllStringSubmatch(hint, -1) {
		for _, other := range otherCommand.FindAllStringSubmatch(m[2], -1) {
			check(findCommand(t, other[1]), "--"+m[1])
		}
	}
	hint = flagsOfOther.ReplaceAllString(hint, "")
	for _, m := range otherCommand.FindAllStringSubmatch(hint, -1) {
		check(findCommand(t, m[1]), m[2])
	}
	check(cmd, shellCommand.ReplaceAllString(otherCommand.ReplaceAllString(hint, ""), ""))
	return problems
}

var configField = regexp.MustCompile(`set (.*?) in a (\w+Configuration)\b`)

// missingFields returns the fields in a hint that their kind of configuration lacks.
func missingFields(t *testing.T, hint string) (problems []string) {
	t.Helper()
	for _, m := range configField.FindAllStringSubmatch(hint, -1) {
		exists := false
		switch path, kind := strings.Split(m[1], "."), m[2]; kind {
		case config.KubeletKind:
			exists = config.HasKubeletEffect(m[1])
		case config.SchedulerKind:
			scheduler := config.DefaultKubeScheduler()
			exists = hasField(t, scheduler.Effective(), path)
		case config.Kind:
			exists = hasField(t, config.Default(), path)
		}
		if !exists {
			problems = append(problems, fmt.Sprintf("%s has no field %q", m[2], m[1]))
		}
	}
	return problems
}

// hasField reports whether a value has a field with a path such as profiles[].schedulerName.
func hasField(t *testing.T, value any, path []string) bool {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var fields any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range path {
		object, ok := fields.(map[string]any)
		key, isList := strings.CutSuffix(name, "[]")
		if fields, ok = object[key], ok && object[key] != nil; !ok {
			return false
		}
		if list, ok := fields.([]any); ok != isList {
			return false
		} else if isList {
			fields = list[0]
		}
	}
	return true
}

// TestUpstreamFlagHint checks the text for one flag.
func TestUpstreamFlagHint(t *testing.T) {
	for args, want := range map[string]string{
		"agent --pods-per-core=3":           "--pods-per-core is a flag of the kubelet that `berth agent` does not have: set podsPerCore in a KubeletConfiguration and pass the file with --config",
		"controller --node-eviction-rate=1": "--node-eviction-rate is a flag of kube-controller-manager that `berth controller` does not have: set nodeLifecycle.evictionRate in a BerthConfiguration and pass the file with --config",
		"scheduler --kube-api-qps 5":        "set clientConnection.qps in a KubeSchedulerConfiguration",
		"descheduler --node-selector=a":     "the policy of --policy-config-file has nodeSelector",
		"scheduler --hostname-override=n1":  "unknown flag: --hostname-override",
		"agent --cgroup-root=/a":            "use --cgroup, or set cgroupRoot in a KubeletConfiguration",
		"agent --reserved-cpus=0-1":         "reserve CPU with --system-reserved or --kube-reserved",
		"up --leader-elect=false":           "--leader-elect is a flag of kube-scheduler that `berth up` does not have: `berth up` runs one instance of each component",
		"up --kubeconfig=a":                 "--kubeconfig is a flag of the kubelet that `berth up` does not have: ",
		"up --descheduling-interval=5m":     "--descheduling-interval is a flag of the Kubernetes descheduler that `berth up` does not have: use --descheduler-interval",
		"up --tls-cert-file=a":              "--tls-cert-file is a flag of the kubelet that `berth up` does not have: ",
	} {
		fields := strings.Fields(args)
		cmd, arguments, err := rootCommand().Find(fields)
		if err != nil {
			t.Fatal(err)
		}
		if err := cli.FlagError(cmd, cmd.Flags().Parse(arguments)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q in it", args, err, want)
		}
	}
}
