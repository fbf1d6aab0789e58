package main

import (
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/berthproject/berth/apiserver"
)

func TestVersion(t *testing.T) {
	version, commit, date = "v1.2.3", "0123abcd", "2026-01-02T03:04:05Z"
	defer func() { version, commit, date = "", "", "" }()
	out, code, err := runBerth("version")
	want := "berth version v1.2.3, Kubernetes API " + apiserver.KubernetesVersion + "\ncommit: 0123abcd\ndate: 2026-01-02T03:04:05Z\n"
	if err != nil || code != 0 || out != want {
		t.Errorf("got exit code %d, %v, output %q, want %q", code, err, out, want)
	}
	if out, _, err = runBerth("--version"); err != nil || !strings.HasPrefix(want, out) {
		t.Errorf("--version: %v: got %q, want the first line of %q", err, out, want)
	}
	out, _, err = runBerth("version", "-o", "json")
	var got buildVersion
	if err != nil || json.Unmarshal([]byte(out), &got) != nil || got != (buildVersion{"v1.2.3", "0123abcd", "2026-01-02T03:04:05Z", apiserver.KubernetesVersion}) {
		t.Errorf("-o json: got %q and error %v, want version v1.2.3 of commit 0123abcd", out, err)
	}
}

// TestVersionWithoutLinkerFlags checks what a build by the go command alone reports.
func TestVersionWithoutLinkerFlags(t *testing.T) {
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abcd"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: modified}}
	}
	for name, tc := range map[string]struct {
		info debug.BuildInfo
		want buildVersion
	}{
		"go build":             {debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: vcs("false")}, buildVersion{Version: "devel", Commit: "0123abcd", Date: "2026-01-02T03:04:05Z"}},
		"uncommitted changes":  {debug.BuildInfo{Settings: vcs("true")}, buildVersion{Version: "devel", Commit: "0123abcd-dirty", Date: "2026-01-02T03:04:05Z"}},
		"go install":           {debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, buildVersion{Version: "v1.2.3"}},
		"no build information": {debug.BuildInfo{}, buildVersion{Version: "devel"}},
	} {
		if got := (buildVersion{}).withDefaults(&tc.info); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
	linked := buildVersion{Version: "v1.2.3", Commit: "4567", Date: "2026-02-03T04:05:06Z"}
	if got := linked.withDefaults(&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: vcs("true")}); got != linked {
		t.Errorf("linker flags: got %+v, want %+v", got, linked)
	}
}
