package containerd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRemoveDamagedResults checks that only results of the bridge that are not JSON are removed.
func TestRemoveDamagedResults(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"bt1-a-eth0": "", "bt1-b-eth0": `{"cniVersion":`, "bt1-c-eth0": `{"kind":"cniCacheV1"}`, "bt2-d-eth0": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeDamagedResults(dir, "bt1"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"bt1-c-eth0", "bt2-d-eth0"}; !slices.Equal(names, want) {
		t.Errorf("remaining results %v, want %v", names, want)
	}
}
