package tenancy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/berthtest"
)

// attack is a user that keeps connections busy with bodies that never end.
type attack struct {
	config      *rest.Config
	connections int
	opened      atomic.Int64  // number of requests whose body has begun
	interval    time.Duration // between two parts of a body
}

// run keeps all connections busy until ctx is done. It opens a new request when the server ends one.
func (a *attack) run(ctx context.Context, t *testing.T) {
	var wg sync.WaitGroup
	for range a.connections {
		tlsConfig, err := rest.TLSConfigFor(a.config)
		if err != nil {
			t.Error(err)
			break
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: tlsConfig, DisableKeepAlives: true}}
		wg.Go(func() {
			for ctx.Err() == nil {
				a.post(ctx, client)
			}
		})
	}
	wg.Wait()
}

// post sends one access review whose body grows slowly, until the server responds or ctx is done.
func (a *attack) post(ctx context.Context, client *http.Client) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, out := io.Pipe()
	defer body.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.config.Host+"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
	if err != nil {
		return
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+a.config.BearerToken)
	go func() {
		defer out.Close()
		text := []byte(`{"apiVersion":` + strings.Repeat(" ", 8<<10)) // more than the client buffers
		for first := true; ; first = false {
			if _, err := out.Write(text); err != nil {
				return
			}
			if first {
				a.opened.Add(1)
				text = bytes.Repeat([]byte(" "), 64)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(a.interval):
			}
		}
	}()
	if response, err := client.Do(request); err == nil {
		_ = response.Body.Close()
	}
}

// latencies returns the sorted durations of n writes with a client. prefix is the prefix of the names.
func latencies(t *testing.T, client kubernetes.Interface, prefix string, n int) []time.Duration {
	t.Helper()
	var durations []time.Duration
	for i := range n {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", prefix, i)}}
		start := time.Now()
		if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatalf("creating an object as another user: %v", err)
		}
		durations = append(durations, time.Since(start))
	}
	slices.Sort(durations)
	return durations
}

// countNotReady counts the watch events of nodes that are not Ready. The test fails if the watch ends before
// the test.
func countNotReady(t *testing.T, client kubernetes.Interface) *atomic.Int64 {
	t.Helper()
	notReady := &atomic.Int64{}
	ctx, cancel := context.WithCancel(t.Context())
	events, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range events.ResultChan() {
			node, ok := event.Object.(*corev1.Node)
			if !ok {
				continue
			}
			for _, c := range node.Status.Conditions {
				if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
					notReady.Add(1)
				}
			}
		}
		if ctx.Err() == nil {
			t.Error("the watch of the nodes ended before the test")
		}
	}()
	t.Cleanup(func() { cancel(); events.Stop(); <-done })
	return notReady
}

// newServiceAccount creates a service account in the namespace default and returns its client configuration.
func newServiceAccount(t *testing.T, c *berthtest.Cluster, name string) *rest.Config {
	t.Helper()
	accounts := c.Client.CoreV1().ServiceAccounts("default")
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.Config)
	config.BearerToken, config.QPS = token.Status.Token, -1
	return config
}

// TestSlowPostsSoak checks that no node becomes unready and other users get responses while a service
// account without roles keeps connections busy with slow requests. It logs the latencies of the responses.
// With BERTH_SOAK there are 500 connections for 90 s, long enough for each Lease to expire twice.
func TestSlowPostsSoak(t *testing.T) {
	connections, rounds, duration := 60, 200, time.Duration(0)
	if os.Getenv("BERTH_SOAK") != "" {
		connections, rounds, duration = 500, 2000, 90*time.Second
	}
	c := berthtest.Start(t, berthtest.Nodes(20))
	notReady := countNotReady(t, c.Client)
	eve, joe := newServiceAccount(t, c, "eve"), newServiceAccount(t, c, "joe")
	other, err := kubernetes.NewForConfig(joe)
	if err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "joe"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "joe"}}}
	if _, err := c.Client.RbacV1().RoleBindings("default").Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the authorizer observes the binding", func(ctx context.Context) error {
		_, err := other.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		return err
	})
	idle := latencies(t, other, "idle", rounds)
	slow := &attack{config: eve, connections: connections, interval: time.Second}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); slow.run(ctx, t) }()
	defer func() { stop(); <-ended }()
	c.Eventually("all connections are busy", func(context.Context) error {
		if n := slow.opened.Load(); n < int64(connections) {
			return fmt.Errorf("%d of %d connections are busy", n, connections)
		}
		return nil
	})
	begin := time.Now()
	loaded := latencies(t, other, "loaded", rounds)
	time.Sleep(duration - time.Since(begin))
	if n := notReady.Load(); n > 0 {
		t.Errorf("got %d events of nodes that are not Ready, want 0", n)
	}
	p99 := func(sorted []time.Duration) time.Duration { return sorted[len(sorted)*99/100] }
	t.Logf("soak: %d slow requests on %d connections in %v: p99 of another user's writes %v, idle %v; median %v, idle %v", slow.opened.Load(), connections,
		time.Since(begin).Round(time.Second), p99(loaded), p99(idle), loaded[len(loaded)/2], idle[len(idle)/2])
}
