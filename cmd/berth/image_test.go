//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/internal/testkit"
)

func runImage(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := imageCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetIn(strings.NewReader("pw\n"))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestImageCommands(t *testing.T) {
	if os.Geteuid() != 0 {
		testkit.SkipOrFail(t, "root", "images belong to root")
	}
	app, err := oci.Build(oci.Spec{Layers: [][]oci.File{{{Path: "/app", Mode: 0o755, Data: []byte("app")}}}})
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag("team/app:1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "app.tar")
	if err := tarball.WriteToFile(file, tag, app); err != nil {
		t.Fatal(err)
	}
	registry, err := oci.StartRegistry()
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	registry.RequireLogin("ann", "pw")
	ref, err := registry.Add("team/app", "2", app)
	if err != nil {
		t.Fatal(err)
	}
	root := "--root-dir=" + dir
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"load", root, file}, "docker.io/team/app:1"},
		{[]string{"pull", root, "--username=ann", "--password-stdin", "--insecure-registry=" + registry.Host(), ref}, ref},
		{[]string{"ls", root}, "1 image(s) use 8.0 KiB in 2 files"},
		{[]string{"rm", root, ref}, ref + " removed"},
		{[]string{"ls", "--store=" + filepath.Join(dir, "images"), "-o", "json"}, `"docker.io/team/app:1"`},
		{[]string{"rm", root, "team/app:1"}, "team/app:1 removed"},
		{[]string{"ls", root, "-o", "json"}, "[]"},
	} {
		out, err := runImage(t, step.args...)
		if err != nil || !strings.Contains(out, step.want) {
			t.Errorf("%q: got error %v and output %s, want %q in it", step.args, err, out, step.want)
		}
		if out, ok := strings.CutPrefix(out, "["); ok && !json.Valid([]byte("["+out)) {
			t.Errorf("%q: got [%s, want JSON", step.args, out)
		}
	}
	for want, args := range map[string][]string{
		"image is not in the store":                 {"rm", root, "team/app:1"},
		"no images found: --root-dir must be":       {"ls", "--root-dir=" + t.TempDir()},
		"--username and --password-stdin: use both": {"pull", root, "--username=ann", ref},
		"UNAUTHORIZED":                     {"pull", root, "--insecure-registry=127.0.0.1", ref},
		"plain HTTP is not allowed":        {"pull", root, ref},
		`--insecure-registry "http://a"`:   {"pull", root, "--insecure-registry=http://a", ref},
		`must be text, wide, json or yaml`: {"ls", root, "-o", "xml"},
		"no such file or directory":        {"load", root, filepath.Join(dir, "none.tar")},
		"invalid reference format":         {"pull", root, "Team App"},
		"not a tar archive: unexpected E":  {"load", root, "-"},
	} {
		if out, err := runImage(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %s; want an error with %q", args, err, out, want)
		}
	}
}

func TestDefaultImagesDir(t *testing.T) {
	for name, tc := range map[string]struct {
		agent, up     bool
		want          string
		mentionsOther bool
	}{
		"only the directory of berth agent": {agent: true, want: "agent"},
		"only the directory of berth up":    {up: true, want: "up"},
		"both":                              {agent: true, up: true, want: "agent", mentionsOther: true},
		"none":                              {want: "agent", mentionsOther: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			agent, up := filepath.Join(dir, "agent"), filepath.Join(dir, "up")
			for root, exists := range map[string]bool{agent: tc.agent, up: tc.up} {
				if err := os.MkdirAll(filepath.Join(root, "images"), 0o700); err != nil {
					t.Fatal(err)
				}
				if exists {
					if err := os.WriteFile(filepath.Join(root, "images", "oci-layout"), nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			var notes bytes.Buffer
			if got := defaultImagesDir(&notes, agent, up); got != filepath.Join(dir, tc.want, "images") {
				t.Errorf("got %s, want the images of %s", got, tc.want)
			}
			if mentionsOther := strings.Contains(notes.String(), "--root-dir "+up); mentionsOther != tc.mentionsOther {
				t.Errorf("got notes %q, want a mention of %s: %t", notes.String(), up, tc.mentionsOther)
			}
		})
	}
}
