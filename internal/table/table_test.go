package table

import (
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	table := New(Columns("POD", "NODE"), WideColumns("OWNER"))
	table.AddRow("default/web-1", "n1", "ReplicaSet/web")
	table.AddRow("p", "", "")
	for wide, want := range map[bool]string{
		false: "POD            NODE\ndefault/web-1  n1\np\n",
		true:  "POD            NODE  OWNER\ndefault/web-1  n1    ReplicaSet/web\np\n",
	} {
		var b strings.Builder
		if err := table.Write(&b, wide); err != nil || b.String() != want {
			t.Errorf("wide %v: got error %v and\n%s\nwant\n%s", wide, err, b.String(), want)
		}
	}
}
