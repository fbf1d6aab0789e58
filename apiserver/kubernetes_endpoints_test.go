package apiserver

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
)

// announcements is an announcer in memory.
type announcements struct {
	mu     sync.Mutex
	expiry map[string]time.Time
}

func (a *announcements) Announce(_ context.Context, _, value string, ttl time.Duration) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expiry[value] = time.Now().Add(ttl)
	return nil
}

func (a *announcements) Withdraw(_ context.Context, _, value string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.expiry, value)
	return nil
}

func (a *announcements) Announced(context.Context, string) (values []string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for v, expiry := range a.expiry {
		if time.Now().Before(expiry) {
			values = append(values, v)
		}
	}
	return values, nil
}

// advertised returns the addresses in Endpoints and EndpointSlices.
func advertised(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	var lines []string
	endpoints, err := client.CoreV1().Endpoints("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range endpoints.Items {
		for _, s := range e.Subsets {
			for _, a := range s.Addresses {
				lines = append(lines, fmt.Sprintf("%s %s:%d", e.Name, a.IP, s.Ports[0].Port))
			}
		}
	}
	list, err := client.DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			lines = append(lines, fmt.Sprintf("slice %s %s:%d", s.Name, e.Addresses[0], *s.Ports[0].Port))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

func TestKubernetesEndpointsListRunningServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, shared := fake.NewClientset(), &announcements{expiry: map[string]time.Time{}}
		ctx, crash := context.WithCancel(t.Context())
		startServer := func(ctx context.Context, address string) *kubernetesEndpoints {
			k := &kubernetesEndpoints{announcer: shared, client: client, address: netip.MustParseAddrPort(address)}
			go k.run(ctx)
			synctest.Wait()
			return k
		}
		check := func(stage, want string) {
			t.Helper()
			if got := advertised(t, client); got != want {
				t.Errorf("%s: got %s\nwant %s", stage, got, want)
			}
		}
		first := startServer(t.Context(), "192.0.2.1:6443")
		check("one server", "kubernetes 192.0.2.1:6443, slice kubernetes 192.0.2.1:6443")
		startServer(ctx, "192.0.2.2:6443")
		check("two servers", "kubernetes 192.0.2.1:6443, kubernetes 192.0.2.2:6443, slice kubernetes 192.0.2.1:6443, slice kubernetes 192.0.2.2:6443")
		time.Sleep(time.Minute)
		synctest.Wait()
		check("after a minute", "kubernetes 192.0.2.1:6443, kubernetes 192.0.2.2:6443, slice kubernetes 192.0.2.1:6443, slice kubernetes 192.0.2.2:6443")
		crash()
		time.Sleep(apiServerTTL + kubernetesServiceInterval)
		synctest.Wait()
		check("second server crashed", "kubernetes 192.0.2.1:6443, slice kubernetes 192.0.2.1:6443")
		last := startServer(t.Context(), "192.0.2.2:7443")
		check("server with another port", "kubernetes 192.0.2.1:6443, kubernetes 192.0.2.2:7443, slice kubernetes 192.0.2.1:6443, slice kubernetes-1 192.0.2.2:7443")
		if err := first.withdraw(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		check("first server stopped", "kubernetes 192.0.2.2:7443, slice kubernetes 192.0.2.2:7443")
		if err := last.withdraw(); err != nil {
			t.Error(err)
		}
		check("all servers stopped", "")
	})
}

func TestAdvertiseAddress(t *testing.T) {
	for listen, want := range map[string]string{"192.0.2.7": "192.0.2.7", "2001:db8::1": "2001:db8::1"} {
		if got := (Options{}).advertiseAddress(listen); !got.Equal(net.ParseIP(want)) {
			t.Errorf("listening on %s: got %s, want %s", listen, got, want)
		}
	}
	if got := (Options{AdvertiseAddress: "198.51.100.1"}).advertiseAddress("192.0.2.7"); got.String() != "198.51.100.1" {
		t.Errorf("with an option: got %s, want 198.51.100.1", got)
	}
	o := DefaultOptions()
	for _, invalid := range []string{"x", "127.0.0.1", "0.0.0.0"} {
		if o.AdvertiseAddress = invalid; o.validate() == nil || !strings.Contains(o.validate().Error(), "--advertise-address") {
			t.Errorf("validate with %s: got %v, want an error of --advertise-address", invalid, o.validate())
		}
	}
}
