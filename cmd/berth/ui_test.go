package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/berthtest"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/ui"
	"github.com/berthproject/berth/ui/answers"
)

// uiPaths has the paths of the page's data by namespace. Those of the empty namespace need permissions in all
// namespaces.
var uiPaths = map[string][]string{
	"": {"/ui/cluster/api/v1/nodes", "/ui/cluster/api/v1/pods", "/ui/cluster/apis/policy/v1/poddisruptionbudgets", "/ui/api/queue", "/ui/api/displacements",
		"/ui/api/pod?namespace=shop&name=web", "/ui/api/pod?namespace=shop&name=deleted", "/ui/api/drain?node=n1", "/ui/api/zones", "/ui/api/descheduler",
		"/ui/api/node/pressure?name=n1", "/ui/api/node/disk?name=n1"},
	"shop": {"/ui/cluster/api/v1/namespaces/shop/pods", "/ui/cluster/apis/policy/v1/namespaces/shop/poddisruptionbudgets", "/ui/api/queue?namespace=shop", "/ui/api/displacements?namespace=shop"},
	"bank": {"/ui/cluster/api/v1/namespaces/bank/pods", "/ui/cluster/apis/policy/v1/namespaces/bank/poddisruptionbudgets", "/ui/api/queue?namespace=bank", "/ui/api/displacements?namespace=bank"},
}

// TestPageShowsOnlyWhatItsUserMayRead checks that users get only the data, including that of the
// journal, of the namespaces that they may read.
func TestPageShowsOnlyWhatItsUserMayRead(t *testing.T) {
	c := berthtest.Start(t)
	for _, ns := range []string{"shop", "bank"} {
		createNamespaceWithPod(t, c, ns)
	}
	dir := t.TempDir()
	writeRecords(t, dir, "shop", "bank")
	s, err := settings.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	page, err := ui.New(ui.Options{Cluster: c.Config, Answers: answers.Source{Settings: s, Journal: dir, Policy: config.DefaultDescheduler().Policy}.Answers()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(page)
	defer server.Close()
	grant(t, c, "shop", "reader", "view")
	for user, readable := range map[string]map[string]bool{"nothing": {}, "reader": {"shop": true}} {
		token := tokenOf(t, c, "shop", user)
		for ns, paths := range uiPaths {
			for _, path := range paths {
				code, body := getPage(t, server.URL+path, token)
				if want := statusFor(readable[ns]); code != want {
					t.Errorf("user %s: %s: got status %d, want %d: %s", user, path, code, want, body)
				}
				if strings.Contains(body, "secret-of-bank") || !readable["shop"] && strings.Contains(body, "secret-of-shop") {
					t.Errorf("user %s: %s shows data of a namespace that the user cannot read: %s", user, path, body)
				}
			}
		}
	}
	for _, user := range []string{"nothing", "reader"} {
		token := tokenOf(t, c, "shop", user)
		if code, body := sendPage(t, http.MethodPost, server.URL+"/ui/api/simulate", token, `{"cluster":true}`, "event: "); code != http.StatusOK || !strings.Contains(body, "event: failure") || !strings.Contains(body, `"code":403`) {
			t.Errorf("user %s: simulation of the cluster: got status %d, %s; want a failure with code 403", user, code, body)
		}
		for _, ns := range []string{"", "shop", "bank"} {
			_, body := sendPage(t, http.MethodGet, server.URL+"/ui/api/fleet?namespace="+ns, token, "", `"pods":"`)
			if got, want := strings.Contains(body, `"name":["web"]`), user == "reader" && ns == "shop"; got != want || strings.Contains(body, `"nodes":[`) {
				t.Errorf("user %s: fleet of namespace %q: got the pod %t, want %t, and no nodes: %s", user, ns, got, want, body)
			}
		}
	}
	if _, body := getPage(t, server.URL+"/ui/api/displacements?namespace=shop", tokenOf(t, c, "shop", "reader")); !strings.Contains(body, "secret-of-shop") {
		t.Errorf("displacements of shop: got %s, want the record of the journal", body)
	}
	if code, _ := getPage(t, server.URL+uiPaths[""][0], "forged"); code != http.StatusUnauthorized {
		t.Errorf("forged token: got status %d, want 401", code)
	}
}

// TestPageMatchesExplainPod checks that the page has the output of `berth explain pod -o json`.
func TestPageMatchesExplainPod(t *testing.T) {
	c := berthtest.Start(t)
	createNamespaceWithPod(t, c, "shop")
	s, err := settings.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	explanation, err := answers.Source{Settings: s}.Answers().Pod(t.Context(), c.Config, "shop", "web")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd := rootCommand()
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"explain", "pod", "shop/web", "-o", "json", "--kubeconfig", c.Kubeconfig})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	if err := json.Unmarshal(explanation, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out.String()), &want); err != nil {
		t.Fatal(err)
	}
	if got["outcome"] != "unschedulable" || got["suggestions"] == nil {
		t.Errorf("got %s, want an unschedulable pod with suggestions", explanation)
	}
	delete(got, "decisions") // the command also reads the journal next to the kubeconfig
	delete(want, "decisions")
	g, _ := json.Marshal(got)
	if w, _ := json.Marshal(want); string(g) != string(w) {
		t.Errorf("explanation of the page: got\n%s\nwant that of the command\n%s", g, w)
	}
}

func statusFor(allowed bool) int {
	if allowed {
		return http.StatusOK
	}
	return http.StatusForbidden
}

// createNamespaceWithPod creates a namespace with service accounts and a pod that fits on no node.
func createNamespaceWithPod(t *testing.T, c *berthtest.Cluster, ns string) {
	t.Helper()
	ctx := t.Context()
	if _, err := c.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"default", "nothing", "reader"} {
		if _, err := c.Client.CoreV1().ServiceAccounts(ns).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: user}}, metav1.CreateOptions{}); err != nil && user != "default" {
			t.Fatal(err)
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"text": "secret-of-" + ns}},
		Spec: corev1.PodSpec{NodeSelector: map[string]string{"missing": "yes"}, Containers: []corev1.Container{{Name: "c", Image: "web"}}}}
	if _, err := c.Client.CoreV1().Pods(ns).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// grant binds a ClusterRole to a service account in its namespace.
func grant(t *testing.T, c *berthtest.Cluster, ns, user, role string) {
	t.Helper()
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: user, Namespace: ns}}}
	if _, err := c.Client.RbacV1().RoleBindings(ns).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func tokenOf(t *testing.T, c *berthtest.Cluster, ns, user string) string {
	t.Helper()
	r, err := c.Client.CoreV1().ServiceAccounts(ns).CreateToken(t.Context(), user, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Status.Token
}

// writeRecords writes a displacement record of a deleted pod for each namespace.
func writeRecords(t *testing.T, dir string, namespaces ...string) {
	t.Helper()
	j, err := journal.Open(dir, journal.Options{Writer: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, ns := range namespaces {
		victim := &model.Pod{Namespace: ns, Name: "deleted", UID: ns, Spec: &model.PodSpec{}}
		if err := j.Append(journal.NewDisplacement(&displacement.Record{Victim: victim, Node: "n1", Rule: "secret-of-" + ns}, metav1.Now().Time, "test")); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func getPage(t *testing.T, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// sendPage sends a request and returns the start of its stream, until it contains a text.
func sendPage(t *testing.T, method, url, token, body, until string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Origin", "http://"+r.URL.Host)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var text strings.Builder
	for lines := bufio.NewScanner(resp.Body); lines.Scan() && !(strings.Contains(text.String(), until) && lines.Text() == ""); {
		text.WriteString(lines.Text())
	}
	return resp.StatusCode, text.String()
}
