package network

import "testing"

func TestRemoveRulesOfOneNetwork(t *testing.T) {
	rules := `*nat
:POSTROUTING ACCEPT [0:0]
:CNI-aa - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A PREROUTING -p tcp -m comment --comment "name: \"bt1-1\" id: \"z\"" -m tcp --dport 80 -j DNAT --to-destination 10.1.0.3:80
-A POSTROUTING -s 10.1.0.2/32 -m comment --comment "name: \"bt1-1\" id: \"x\"" -j CNI-aa
-A POSTROUTING -s 10.2.0.2/32 -m comment --comment "name: \"bt1-11\" id: \"y\"" -j CNI-bb
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"bt1-1\" id: \"x\"" -m multiport --dports 80 -j CNI-DN-aa
-A CNI-aa -d 10.1.0.0/24 -m comment --comment "name: \"bt1-1\" id: \"x\"" -j ACCEPT
-A CNI-DN-aa -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.1.0.2:80
COMMIT
`
	const removeX = `-D POSTROUTING -s 10.1.0.2/32 -m comment --comment "name: \"bt1-1\" id: \"x\"" -j CNI-aa
-D CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"bt1-1\" id: \"x\"" -m multiport --dports 80 -j CNI-DN-aa
-F CNI-aa
-F CNI-DN-aa
-X CNI-aa
-X CNI-DN-aa
COMMIT
`
	const removeZ = `-D PREROUTING -p tcp -m comment --comment "name: \"bt1-1\" id: \"z\"" -m tcp --dport 80 -j DNAT --to-destination 10.1.0.3:80
`
	for _, c := range []struct{ network, id, want string }{
		{"bt1-1", "", "*nat\n" + removeZ + removeX},
		{"bt1-1", "x", "*nat\n" + removeX},
		{"bt1-1", "z", "*nat\n" + removeZ + "COMMIT\n"},
		{"bt1", "", ""},
	} {
		got := removalInput("nat", rules, func(network, id string) bool { return network == c.network && (c.id == "" || id == c.id) })
		if got != c.want {
			t.Errorf("network %s, id %q: input\n%s\nwant\n%s", c.network, c.id, got, c.want)
		}
	}
}
