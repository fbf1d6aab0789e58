package nodeclient

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/api/v1alpha1"
)

func TestLocate(t *testing.T) {
	for name, tc := range map[string]struct {
		url              string
		addresses        []corev1.NodeAddress
		port             int32
		want, commonName string // or part of the error, with an empty common name
	}{
		"IP address":             {"", []corev1.NodeAddress{{Type: "Hostname", Address: "n1"}, {Type: "ExternalIP", Address: "192.0.2.1"}, {Type: "InternalIP", Address: "10.0.0.1"}}, 10250, "https://10.0.0.1:10250", "system:node:n1"},
		"host name":              {"", []corev1.NodeAddress{{Type: "Hostname", Address: "n1"}}, 10250, "https://n1:10250", "system:node:n1"},
		"IPv6":                   {"", []corev1.NodeAddress{{Type: "InternalIP", Address: "fd00::1"}}, 1, "https://[fd00::1]:1", "system:node:n1"},
		"annotation":             {"https://10.0.0.9:77", nil, 0, "https://10.0.0.9:77", "system:node:n1"},
		"simulated node":         {"https://10.0.0.9:77/nodes/n1", nil, 0, "https://10.0.0.9:77/nodes/n1", "system:berth:simulated-nodes"},
		"path of another node":   {"https://10.0.0.9:77/nodes/n2", nil, 0, "must be https://HOST:PORT or https://HOST:PORT/nodes/n1", ""},
		"URL without TLS":        {"http://10.0.0.9:77", nil, 0, "must be https://", ""},
		"no agent":               {"", []corev1.NodeAddress{{Type: "InternalIP", Address: "10.0.0.1"}}, 0, "kubeletEndpoint.port is 0", ""},
		"no address":             {"", []corev1.NodeAddress{{Type: "InternalDNS", Address: "n1.internal"}}, 10250, "no address in status.addresses", ""},
		"path with dot segments": {"https://evil.example/nodes/n1/../n2", nil, 0, "must be https://", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
			if tc.url != "" {
				n.Annotations = map[string]string{v1alpha1.AgentURLAnnotation: tc.url}
			}
			n.Status.Addresses, n.Status.DaemonEndpoints.KubeletEndpoint.Port = tc.addresses, tc.port
			base, commonName, err := locate(n)
			switch {
			case tc.commonName == "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got URL %v, common name %q and error %v, want an error with %q", base, commonName, err, tc.want)
			case tc.commonName != "" && (err != nil || base.String() != tc.want || commonName != tc.commonName):
				t.Errorf("got URL %v, common name %q and error %v, want %s and %q", base, commonName, err, tc.want, tc.commonName)
			}
		})
	}
}
