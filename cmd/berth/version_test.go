package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/berthproject/berth/apiserver"
)

func TestVersion(t *testing.T) {
	out, code, err := berth("version")
	if err != nil || code != 0 || !strings.HasPrefix(out, "berth version ") || !strings.Contains(out, apiserver.KubernetesVersion) {
		t.Errorf("%d, %v: %q", code, err, out)
	}
	out, _, err = berth("version", "-o", "json")
	var got map[string]string
	if err != nil || json.Unmarshal([]byte(out), &got) != nil || got["version"] == "" || got["kubernetes"] != apiserver.KubernetesVersion {
		t.Errorf("%v: %q", err, out)
	}
}
