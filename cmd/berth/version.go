package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/internal/cli"
)

// The linker sets these variables for a release (-X main.version=v1.2.3). If they are
// empty, build information of the go command is used.
var version, commit, date string

// buildVersion identifies a build. Date is the date of the commit.
type buildVersion struct {
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	Date       string `json:"date,omitempty"`
	Kubernetes string `json:"kubernetes"`
}

func versionCommand() *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit, date and the version of the Kubernetes API",
		Example: `  berth version
  berth version -o json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := currentVersion()
			return output.Print(cmd.OutOrStdout(), cli.Printable{Object: v, Text: func(w io.Writer, _ bool) error {
				_, err := fmt.Fprintf(w, "berth version %s\ncommit: %s\ndate: %s\n", v, cmp.Or(v.Commit, "unknown"), cmp.Or(v.Date, "unknown"))
				return err
			}})
		},
	}
	cli.AddOutputFlag(cmd, cmd.Flags(), &output)
	return cmd
}

// String returns the version of Berth and of its Kubernetes API.
func (v buildVersion) String() string { return v.Version + ", Kubernetes API " + v.Kubernetes }

func currentVersion() buildVersion {
	linked := buildVersion{Version: version, Commit: commit, Date: date, Kubernetes: apiserver.KubernetesVersion}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return linked.withDefaults(info)
}

// withDefaults returns v with its empty fields set from build information of the go
// command. A commit with uncommitted changes ends in "-dirty".
func (v buildVersion) withDefaults(info *debug.BuildInfo) buildVersion {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision != "" && settings["vcs.modified"] == "true" {
		revision += "-dirty"
	}
	v.Version = cmp.Or(v.Version, strings.Trim(info.Main.Version, "()"), "devel")
	v.Commit = cmp.Or(v.Commit, revision)
	v.Date = cmp.Or(v.Date, settings["vcs.time"])
	return v
}
