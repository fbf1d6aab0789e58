package informers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func dumpFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "dump.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReadDumpFormats(t *testing.T) {
	got, err := ReadDump([]string{
		dumpFile(t, `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}},{"apiVersion":"x.example/v1","kind":"Thing"}]}`),
		dumpFile(t, "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: p}\n- metadata: {name: q}\n---\n\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: r}\n"),
	})
	if err != nil || len(got) != 4 {
		t.Fatalf("got %d objects, %v, want 4", len(got), err)
	}
	if p, ok := got[3].(*corev1.Pod); !ok || p.Name != "r" {
		t.Errorf("last object %+v, want pod r", got[3])
	}
}

func TestReadDumpErrors(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: Pod\nspec: 3":                                            "dump.yaml: document 1",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeName: [1]}":         `Pod "p": spec.nodeName: array: must be a string`,
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: {name: c}}": `Pod "p": spec.containers: object: must be a list`,
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {priority: high}":        `Pod "p": spec.priority: string: must be a number`,
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {hostNetwork: 1}":        `Pod "p": spec.hostNetwork: number: must be a boolean`,
		"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nspec: {taints: [dedicated]}": `Node "n1": spec.taints: string: must be an object`,
		"a: [":                                  "dump.yaml: document 1",
		"apiVersion: v1\nkind: Pod\n---\nname:": "document 2",
		`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","spec":{"containers":1}}]}`: "items[0]",
	} {
		if _, err := ReadDump([]string{dumpFile(t, text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestListReadsAllKinds(t *testing.T) {
	api := fake.NewClientset(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "x"}},
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}})
	got, err := List(t.Context(), api, nil)
	if err != nil || len(got) != 3 {
		t.Errorf("got %d objects, %v, want 3", len(got), err)
	}
}
