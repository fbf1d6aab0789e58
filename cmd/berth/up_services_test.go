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
			t.Errorf("%s: got %v and error %v, want %s", input, got, err, want)
		}
	}
	for input, want := range map[string]string{"10.96.0.0/29": "--dns off", "10.96.0.0": "--service-cluster-ip-range"} {
		if _, err := clusterDNSAddress(input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q in it", input, err, want)
		}
	}
}

func TestServiceSwitch(t *testing.T) {
	s := serviceSwitch(switchAuto)
	if err := s.Set("maybe"); err == nil || s != switchAuto {
		t.Errorf("after Set(maybe): got error %v, value %s, want an error and auto", err, s.String())
	}
	if err := s.Set("off"); err != nil || s.String() != "off" {
		t.Errorf("after Set(off): got error %v, value %s, want off", err, s.String())
	}
}

// TestServicesWithoutNodes checks that nothing is prepared if no node runs containers.
func TestServicesWithoutNodes(t *testing.T) {
	u := upServices{proxy: switchOn, dns: switchOn}
	var k config.Kubelet
	if err := u.prepare(&upLocalNodes{}, "invalid", &k); err != nil || u.runProxy || len(k.ClusterDNS) > 0 {
		t.Errorf("got error %v, services %+v, DNS servers %v, want none", err, u, k.ClusterDNS)
	}
}

// TestOtherClusterDNS checks that pods use the cluster's other DNS server unless the configuration names one.
func TestOtherClusterDNS(t *testing.T) {
	otherDNS := &dns.OtherServerError{ClusterIP: "10.96.0.99"}
	for _, c := range []struct {
		u       upServices
		reason  error
		want    string
		wantErr bool
	}{
		{upServices{dns: switchAuto, setDNS: true}, otherDNS, "10.96.0.99", false},
		{upServices{dns: switchAuto, setDNS: true}, errors.New("address taken"), "", false},
		{upServices{dns: switchAuto}, otherDNS, "10.96.0.10", false},
		{upServices{dns: switchOn}, otherDNS, "10.96.0.10", true},
	} {
		local, k := upLocalNodes{}, config.Kubelet{ClusterDNS: []string{"10.96.0.10"}}
		err := c.u.disableDNS(c.reason, &local, &k)
		if got := strings.Join(k.ClusterDNS, ""); got != c.want || (err != nil) != c.wantErr || (len(local.notes) == 1) == c.wantErr {
			t.Errorf("%+v, %v: got servers %q, error %v, notes %q, want servers %q, an error: %t, else a note", c.u, c.reason, got, err, local.notes, c.want, c.wantErr)
		}
	}
}
