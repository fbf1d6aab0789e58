package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// completionServer returns the kubeconfig of a server with nodes n1, n2 and m1, two pods and
// two namespaces.
func completionServer(t *testing.T) string {
	t.Helper()
	named := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	objects := map[string]any{
		"/api/v1/nodes": corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"},
			Items: []corev1.Node{{ObjectMeta: named("", "n1")}, {ObjectMeta: named("", "n2")}, {ObjectMeta: named("", "m1")}}},
		"/api/v1/namespaces": corev1.NamespaceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"},
			Items: []corev1.Namespace{{ObjectMeta: named("", "default")}, {ObjectMeta: named("", "shop")}}},
		"/api/v1/pods": corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
			Items: []corev1.Pod{{ObjectMeta: named("default", "web-1")}, {ObjectMeta: named("shop", "web-0")}}},
		"/api/v1/namespaces/shop/pods": corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
			Items: []corev1.Pod{{ObjectMeta: named("shop", "web-0")}}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := objects[r.URL.Path]
		if list == nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(server.Close)
	return writeFile(t, "kubeconfig", strings.ReplaceAll(unreachableKubeconfig(1), "http://127.0.0.1:1", server.URL))
}

// TestCompletion checks shell completion of names and flag values. In each line, "|" precedes the word to complete.
func TestCompletion(t *testing.T) {
	t.Setenv("KUBECONFIG", completionServer(t))
	dump := writeFile(t, "dump.yaml", drainDump)
	for line, want := range map[string]string{
		"drain |n":                 "n1 n2",
		"drain n1 |":               "n2 m1",
		"drain -f " + dump + " |n": "",
		"explain node |m":          "m1",
		"explain node n1 |":        "",
		"explain pod |":            "web-1 shop/web-0",
		"explain pod |shop/":       "shop/web-0",
		"explain pod -n shop |":    "web-0",
		"explain pod -n |s":        "shop",
		"explain pod --context |":  "c",
		"queue -n |s":              "shop",
		"evictions -n |s":          "shop",
		"evictions --node |n":      "n1 n2",
		"evictions --cause |Pree":  "Preemption",
		"queue -o |":               "text wide name json yaml",
		"version -o |":             "text json yaml",
		"config -o |":              "yaml json",
		"image ls -o |":            "text wide json yaml",
		"kubectl |cluster-i":       "cluster-info",
	} {
		complete, prefix, _ := strings.Cut(line, "|")
		args := append(append([]string{"__completeNoDesc"}, strings.Fields(complete)...), prefix)
		out, _, err := runBerth(args...)
		var names []string
		for l := range strings.Lines(out) {
			if strings.HasPrefix(l, ":") {
				break
			}
			names = append(names, strings.TrimSpace(l))
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("berth %s: got %q and error %v, want %q", line, got, err, want)
		}
	}
}

// TestCompletionWithoutCluster checks that completion is empty if the server is unreachable.
func TestCompletionWithoutCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", writeFile(t, "kubeconfig", unreachableKubeconfig(1)))
	for _, line := range []string{"drain", "explain pod", "explain displacement", "evictions -n"} {
		out, _, err := runBerth(append(append([]string{"__complete"}, strings.Fields(line)...), "")...)
		if err != nil || !strings.HasPrefix(out, ":4\n") {
			t.Errorf("berth %s: got %q and error %v, want no names", line, out, err)
		}
	}
}
