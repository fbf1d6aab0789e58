package kinds

import "testing"

// TestNetworkingCreate validates new objects of networking.k8s.io and VolumeAttributesClasses. The
// errors are those of kube-apiserver.
func TestNetworkingCreate(t *testing.T) {
	const (
		backend = `"backend":{"service":{"name":"s","port":{"number":80}}}`
		ingress = `networking.k8s.io/v1 Ingress {"spec":{"rules":[{"http":{"paths":[{` + backend
		policy  = `networking.k8s.io/v1 NetworkPolicy {"spec":{"podSelector":{},"ingress":[`
	)
	for text, want := range map[string]string{
		ingress + `,"pathType":"Prefix","path":"/a"}]}}]}}`:   "",
		ingress + `,"pathType":"Prefix","path":"a"}]}}]}}`:    "spec.rules[0].http.paths[0].path: must be an absolute path",
		ingress + `,"pathType":"Exact","path":"/a//b"}]}}]}}`: "spec.rules[0].http.paths[0].path: must not contain '//'",
		ingress + `}]}}]}}`:                                                                                       "spec.rules[0].http.paths[0].pathType: pathType must be specified",
		`networking.k8s.io/v1 Ingress {"spec":{}}`:                                                                "spec: either `defaultBackend` or `rules` must be specified",
		`networking.k8s.io/v1 Ingress {"spec":{"rules":[{"host":"1.2.3.4"}]}}`:                                    "spec.rules[0].host: must be a DNS name, not an IP address",
		`networking.k8s.io/v1 Ingress {"spec":{"rules":[{"host":"*.example.com"}]}}`:                              "",
		`networking.k8s.io/v1 Ingress {"spec":{"defaultBackend":{"service":{"name":"s"}}}}`:                       "spec.defaultBackend.service.port: port name or number is required",
		`networking.k8s.io/v1 IngressClass {"spec":{"controller":"x"}}`:                                           "spec.controller: must be a domain-prefixed path (such as \"acme.io/foo\")",
		`networking.k8s.io/v1 IngressClass {"spec":{"controller":"a.io/x","parameters":{"name":"n"}}}`:            "spec.parameters.kind: kind is required",
		policy + `{"ports":[{"port":80}],"from":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16"]}}]}]}}`: "",
		policy + `{"from":[{}]}]}}`:                                                                               "spec.ingress[0].from[0]: must specify a peer",
		policy + `{"from":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["11.0.0.0/16"]}}]}]}}`:                       "spec.ingress[0].from[0].ipBlock.except[0]: must be a strict subset of `cidr`: \"10.0.0.0/8\"",
		policy + `{"ports":[{"endPort":80}]}]}}`:                                                                  "spec.ingress[0].ports[0].endPort: may not be specified when `port` is not specified",
		`networking.k8s.io/v1 ServiceCIDR {"spec":{"cidrs":["10.0.0.0/8","11.0.0.0/8"]}}`:                         "spec.cidrs: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
		`networking.k8s.io/v1 IPAddress {"metadata":{"name":"10.0.0.1"},"spec":{}}`:                               "spec.parentRef: ",
		`storage.k8s.io/v1 VolumeAttributesClass {"driverName":"d"}`:                                              "parameters: must contain at least one key/value pair",
	} {
		if _, got := createObject(t, text); got != want {
			t.Errorf("%s\n got %q\n want %q", text, got, want)
		}
	}
}
