package nodeagent

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/runtime"
)

func TestAllocationsAreStored(t *testing.T) {
	s := allocationStore{t.TempDir()}
	if loaded, err := s.Load(); len(loaded) != 0 || err != nil {
		t.Fatalf("Load of a new directory: %v, %v, want no allocation", loaded, err)
	}
	r := runtime.Resources{Containers: map[string]corev1.ResourceRequirements{"c": {Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}}}}
	if err := s.Save(map[types.UID]agent.Allocation{"u": {Allocated: &r}}); err != nil {
		t.Fatal(err)
	}
	loaded, err := s.Load()
	if got := loaded["u"]; err != nil || got.Allocated == nil || !got.Allocated.Equal(r) || got.Actual != nil {
		t.Errorf("Load: %v, %v, want the saved allocation", loaded, err)
	}
	if err := os.WriteFile(filepath.Join(s.root, allocationsFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(); err == nil {
		t.Error("Load of a malformed file succeeded, want an error")
	}
}
