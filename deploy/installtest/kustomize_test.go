package installtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomize returns the objects of `kustomize build`.
func kustomize(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatalf("kustomize build: %v", err)
	}
	stream, err := objects.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, stream)
}

// TestOverlay checks the overlay that kustomization.yaml describes.
func TestOverlay(t *testing.T) {
	base, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	relative, err := filepath.Rel(dir, base)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [%s]
images: [{name: berth, newName: registry.example.com/berth, newTag: v1.2.3}]
replicas: [{name: berth-descheduler, count: 1}]
`, relative)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	replicas := map[string]any{}
	for _, o := range kustomize(t, dir) {
		if o.GetKind() != "Deployment" {
			continue
		}
		replicas[o.GetName()], _, _ = unstructured.NestedFieldNoCopy(o.Object, "spec", "replicas")
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		if image, _ := containers[0].(map[string]any)["image"].(string); image != "registry.example.com/berth:v1.2.3" {
			t.Errorf("%s has image %q, want registry.example.com/berth:v1.2.3", o.GetName(), image)
		}
	}
	got := strings.TrimPrefix(fmt.Sprint(replicas), "map")
	if want := "[berth-controller:0 berth-descheduler:1 berth-scheduler:2]"; got != want {
		t.Errorf("the overlay has replicas %s, want %s", got, want)
	}
}
