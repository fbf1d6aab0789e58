package workload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenBNamesMissingColumns checks that a file of the trace without a column is an error that names the column.
func TestOpenBNamesMissingColumns(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"openb_node_list_all_node.csv": "sn,cpu_milli,memory_mib,gpu,model\nn1,1000,1024,0,\n",
		"openb_pod_list_default.csv":   "name,cpu_milli,memory_mib,num_gpu,gpu_spec\np1,1000,1024,0,\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := OpenB(dir, 0); err == nil || !strings.Contains(err.Error(), `openb_pod_list_default.csv: column "qos" is missing`) {
		t.Errorf("error %v, want one that names the missing column qos", err)
	}
}
