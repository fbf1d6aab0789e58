package e2e

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// kubectlComponentStatuses checks the health that `kubectl get cs` shows for the components of `berth up`.
func kubectlComponentStatuses(t *testing.T, c *cluster) {
	r := c.kubectl("get", "cs")
	expectColumns(t, r.stdout, "NAME STATUS MESSAGE ERROR")
	var rows []string
	for line := range strings.Lines(r.stdout) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	expectContains(t, strings.Join(rows, "\n"), "controller-manager Healthy ok", "etcd-0 Healthy ok", "scheduler Healthy ok")
	expectContains(t, r.stderr, "Warning: v1 ComponentStatus is deprecated in v1.19+")
}

// labeledConfigMaps returns manifests of ConfigMaps with the label set.
func labeledConfigMaps(label string, names ...string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {set: %s}}\n", name, label)
	}
	return b.String()
}

// kubectlPrune checks that apply prunes objects that a manifest no longer has, by label and allowlist, and
// with an ApplySet.
func kubectlPrune(t *testing.T, c *cluster) {
	c.mustKubectl("apply", "-f", c.write("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: by-label, labels: {set: label}}\n"))
	byLabel := []string{"apply", "--prune", "-l", "set=label", "--prune-allowlist=core/v1/ConfigMap", "-f"}
	c.mustKubectl(append(byLabel, c.write("label.yaml", labeledConfigMaps("label", "label-1", "label-2")))...)
	out := c.mustKubectl(append(byLabel, c.write("label.yaml", labeledConfigMaps("label", "label-1")))...)
	expectContains(t, out, "configmap/label-1 unchanged", "configmap/label-2 pruned")
	if remaining := c.mustKubectl("get", "configmaps,secrets", "-l", "set=label", "-o", "name"); remaining != "configmap/label-1\nsecret/by-label\n" {
		t.Errorf("after pruning by label: got %q, want label-1 and by-label", remaining)
	}

	applySet := func(file string) result {
		return c.testHome.runWith([]string{"KUBECTL_APPLYSET=true"}, "kubectl", "--kubeconfig", c.kubeconfig, "apply", "--prune", "--applyset=pruned-set", "--namespace=default", "-f", file)
	}
	if r := applySet(c.write("set.yaml", labeledConfigMaps("set", "set-1", "set-2"))); r.code != 0 {
		t.Fatalf("apply with an ApplySet: got %s, want exit code 0", r)
	}
	r := applySet(c.write("set.yaml", labeledConfigMaps("set", "set-1")))
	expectContains(t, r.stdout, "configmap/set-2 pruned")
	if remaining := c.mustKubectl("get", "configmaps", "-l", "set=set", "-o", "name"); remaining != "configmap/set-1\n" {
		t.Errorf("after pruning an ApplySet: got %q, want set-1", remaining)
	}
	expectContains(t, c.mustKubectl("get", "secret", "pruned-set", "-o", "yaml"), "applyset.kubernetes.io/id: applyset-", "applyset.kubernetes.io/contains-group-kinds: ConfigMap")
}

// kubectlCertificate checks that the certificate of an approved request authenticates its user, and that a
// request can be denied.
func kubectlCertificate(t *testing.T, c *cluster) {
	request, key := certificateRequest(t, "anna")
	for _, name := range []string{"anna", "denied"} {
		c.mustKubectl("create", "-f", c.write(name+".yaml", "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: "+name+
			"}\nspec: {signerName: kubernetes.io/kube-apiserver-client, usages: [client auth], request: "+request+"}\n"))
	}
	expectContains(t, c.mustKubectl("certificate", "deny", "denied"), "certificatesigningrequest.certificates.k8s.io/denied denied")
	expectContains(t, c.mustKubectl("certificate", "approve", "anna"), "certificatesigningrequest.certificates.k8s.io/anna approved")
	var signed certificatesv1.CertificateSigningRequest
	eventually(t, eventTimeout, func() error {
		c.json(&signed, "get", "csr", "anna")
		if len(signed.Status.Certificate) == 0 {
			return errors.New("the certificate of anna is not issued")
		}
		return nil
	})
	expectColumns(t, c.mustKubectl("get", "csr"), "NAME AGE SIGNERNAME REQUESTOR REQUESTEDDURATION CONDITION")
	expectContains(t, c.mustKubectl("get", "csr", "denied"), "Denied")
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := c.write("anna.crt", string(signed.Status.Certificate))
	privateKey := c.write("anna.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	authority := c.write("ca.crt", string(c.config().CAData))
	r := c.testHome.run("kubectl", "--kubeconfig", "/dev/null", "--server", c.config().Host, "--certificate-authority", authority,
		"--client-certificate", certificate, "--client-key", privateKey, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
	if r.code != 0 || r.stdout != "anna" {
		t.Errorf("whoami with the certificate: got %s, want anna", r)
	}
}

// certificateRequest returns the field spec.request of a CertificateSigningRequest for a user, and its private key.
func certificateRequest(t *testing.T, user string) (string, ed25519.PrivateKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: user}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})), key
}
