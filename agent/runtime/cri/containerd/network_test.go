package containerd

import "testing"

func TestRulesOfOneNetwork(t *testing.T) {
	rules := `*nat
:POSTROUTING ACCEPT [0:0]
:CNI-aa - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A POSTROUTING -s 10.1.0.2/32 -m comment --comment "name: \"bt1-1\" id: \"x\"" -j CNI-aa
-A POSTROUTING -s 10.2.0.2/32 -m comment --comment "name: \"bt1-11\" id: \"y\"" -j CNI-bb
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"bt1-1\" id: \"x\"" -m multiport --dports 80 -j CNI-DN-aa
-A CNI-aa -d 10.1.0.0/24 -m comment --comment "name: \"bt1-1\" id: \"x\"" -j ACCEPT
-A CNI-DN-aa -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.1.0.2:80
COMMIT
`
	want := `*nat
-D POSTROUTING -s 10.1.0.2/32 -m comment --comment "name: \"bt1-1\" id: \"x\"" -j CNI-aa
-D CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"bt1-1\" id: \"x\"" -m multiport --dports 80 -j CNI-DN-aa
-F CNI-aa
-F CNI-DN-aa
-X CNI-aa
-X CNI-DN-aa
COMMIT
`
	if got := undoing(rules, "bt1-1"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := undoing(rules, "bt1"); got != "" {
		t.Errorf("of a network without rules: %q, want nothing", got)
	}
}
