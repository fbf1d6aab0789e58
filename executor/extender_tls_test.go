package executor

import (
	"encoding/pem"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/config"
)

func TestExtendersOverTLS(t *testing.T) {
	d := &fakeExtender{respond: func(string, []string) any { return filterResponse("n1") }}
	server := httptest.NewTLSServer(d)
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, tc := range map[string]struct {
		tls  schedulerv1.ExtenderTLSConfig
		want string
	}{
		"trusted":                        {schedulerv1.ExtenderTLSConfig{CAData: ca}, ""},
		"verification disabled":          {schedulerv1.ExtenderTLSConfig{Insecure: true}, ""},
		"not trusted":                    {schedulerv1.ExtenderTLSConfig{}, "certificate"},
		"wrong server name":              {schedulerv1.ExtenderTLSConfig{CAData: ca, ServerName: "wrong.test"}, "wrong.test"},
		"server name of the certificate": {schedulerv1.ExtenderTLSConfig{CAData: ca, ServerName: "example.com"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			x, _ := newTestExtenders(t, config.Extender{URL: server.URL + "/x", Filter: "filter", NodeCacheCapable: true, Timeout: 10 * time.Second, TLS: tc.tls})
			out := x.FilterAndPrioritize(t.Context(), threeNodes())
			if (out.Result == scheduling.Done) != (tc.want == "") || !strings.Contains(out.Reason, tc.want) {
				t.Errorf("outcome %+v, want reason %q", out, tc.want)
			}
		})
	}
	_, err := NewExtenders(fake.NewClientset(), config.Extenders{{URL: "https://a", TLS: schedulerv1.ExtenderTLSConfig{CAFile: "no/such/ca.crt"}},
		{URL: "https://b", TLS: schedulerv1.ExtenderTLSConfig{CAData: []byte("no PEM")}}}, nil)
	for _, want := range []string{"extender https://a: tlsConfig: open no/such/ca.crt", "extender https://b: tlsConfig: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
	if x, err := NewExtenders(fake.NewClientset(), nil, nil); x != nil || err != nil {
		t.Errorf("NewExtenders without extenders = %v, %v, want nil, nil", x, err)
	}
}
