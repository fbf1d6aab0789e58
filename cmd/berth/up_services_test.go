package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/berthproject/berth/dns"
	"github.com/berthproject/berth/internal/config"
)

func TestClusterDNSAddress(t *testing.T) {
	for input, want := range map[string]string{"10.96.0.0/16": "10.96.0.10", "10.96.0.7/28": "10.96.0.10", "fd00::/108": "fd00::a"} {
		if got, err := clusterDNSAddress(input); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v, want %s", input, got, err, want)
		}
	}
	for input, want := range map[string]string{"10.96.0.0/29": "--dns off", "10.96.0.0": "--service-cluster-ip-range"} {
		if _, err := clusterDNSAddress(input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", input, err, want)
		}
	}
}

func TestServiceSwitch(t *testing.T) {
	s := serviceSwitch(switchAuto)
	if err := s.Set("maybe"); err == nil || s != switchAuto {
		t.Errorf("maybe: %v, %s", err, s.String())
	}
	if err := s.Set("off"); err != nil || s.String() != "off" {
		t.Errorf("off: %v, %s", err, s.String())
	}
}

// TestServicesWithoutNodes checks that nothing is prepared if no node runs containers.
func TestServicesWithoutNodes(t *testing.T) {
	u := upServices{proxy: switchOn, dns: switchOn}
	var k config.Kubelet
	if err := u.prepare(&upLocalNodes{}, "invalid", &k); err != nil || u.runProxy || len(k.ClusterDNS) > 0 {
		t.Errorf("%v, %+v, %v", err, u, k.ClusterDNS)
	}
}

// Next to another DNS server pods use that one, unless the configuration names a server.
func TestOtherClusterDNS(t *testing.T) {
	otherDNS := &dns.OtherServerError{ClusterIP: "10.96.0.99"}
	for _, c := range []struct {
		u      upServices
		reason error
		want   string
		fails  bool
	}{
		{upServices{dns: switchAuto, setDNS: true}, otherDNS, "10.96.0.99", false},
		{upServices{dns: switchAuto, setDNS: true}, errors.New("address taken"), "", false},
		{upServices{dns: switchAuto}, otherDNS, "10.96.0.10", false},
		{upServices{dns: switchOn}, otherDNS, "10.96.0.10", true},
	} {
		local, k := upLocalNodes{}, config.Kubelet{ClusterDNS: []string{"10.96.0.10"}}
		err := c.u.withoutDNS(c.reason, &local, &k)
		if got := strings.Join(k.ClusterDNS, ""); got != c.want || (err != nil) != c.fails || (len(local.notes) == 1) == c.fails {
			t.Errorf("%+v, %v: servers %q, %v, notes %q", c.u, c.reason, got, err, local.notes)
		}
	}
}
