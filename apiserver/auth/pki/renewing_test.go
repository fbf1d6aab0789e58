package pki

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
)

// TestCertificatesAreRenewedAtDifferentTimes checks that certificates are renewed at 70 to 90 % of their lifetime, at
// different times, and that a metric reports their expiry.
func TestCertificatesAreRenewedAtDifferentTimes(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start
	a, err := Open(t.TempDir(), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	renewedAt := map[int]bool{} // percent of the lifetime
	for range 20 {
		now = start
		r, err := a.RenewingServing("kube-scheduler", APIServerAltNames(nil))
		if err != nil {
			t.Fatal(err)
		}
		first, _ := r.CurrentCertKeyContent()
		for percent := 1; ; percent++ {
			now = start.Add(leafLifetime * time.Duration(percent) / 100)
			if current, _ := r.CurrentCertKeyContent(); !bytes.Equal(first, current) {
				renewedAt[percent] = true
				break
			}
			if percent == 100 {
				t.Fatal("at the end of the lifetime: got the first certificate, want a new one")
			}
		}
		if leaf := r.Certificate().Leaf; !leaf.NotBefore.After(start) {
			t.Errorf("start of the renewed certificate: got %v, want after %v", leaf.NotBefore, start)
		}
	}
	for percent := range renewedAt {
		if percent < 70 || percent > 91 {
			t.Errorf("renewal: got %d %% of the lifetime, want 70 to 91 %%", percent)
		}
	}
	if len(renewedAt) < 3 {
		t.Errorf("renewals of 20 certificates: got %v %% of the lifetime, want at least 3 different times", slices.Sorted(maps.Keys(renewedAt)))
	}
	if certificateExpiry(t)["kube-scheduler-serving"] == 0 {
		t.Error("got no metric berth_certificate_not_after_timestamp_seconds of the certificate, want it")
	}
}

// certificateExpiry returns the values of berth_certificate_not_after_timestamp_seconds by certificate.
func certificateExpiry(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "berth_certificate_not_after_timestamp_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			out[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
		}
	}
	return out
}

// TestRenewalFailureKeepsCertificate checks that a certificate that cannot be renewed stays in use.
func TestRenewalFailureKeepsCertificate(t *testing.T) {
	now := time.Now()
	a, err := Open(t.TempDir(), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.RenewingClient(KubeletClient())
	if err != nil {
		t.Fatal(err)
	}
	original := r.Certificate()
	r.issue = func() ([]byte, []byte, error) { return nil, nil, errors.New("no disk") }
	now = now.Add(leafLifetime * 95 / 100)
	if r.Certificate() != original {
		t.Error("after a failed renewal: got another certificate, want the original one")
	}
}
