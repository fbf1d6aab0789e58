package renewal

import "testing"

// TestServingTemplate checks that a request for a serving certificate has the node name only: agents on one machine
// have the same address.
func TestServingTemplate(t *testing.T) {
	if r := servingTemplate("n1"); r.Subject.CommonName != "system:node:n1" || len(r.IPAddresses) > 0 || len(r.DNSNames) != 1 || r.DNSNames[0] != "n1" {
		t.Errorf("request for %v with DNS names %v and addresses %v, want only DNS name n1", r.Subject, r.DNSNames, r.IPAddresses)
	}
}
