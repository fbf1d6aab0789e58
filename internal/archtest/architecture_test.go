package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// row is a line of ARCHITECTURE.md's table of rooms.
type row struct {
	rank  int
	rooms []string
	does  string
}

// architecture reads that table.
func architecture(t *testing.T) (out []row) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\| ([0-9]|-) \| ([^|]*) \| (.*) \|$`).FindAllStringSubmatch(string(text), -1) {
		r := row{rank: 9, does: m[3]}
		if n, err := strconv.Atoi(m[1]); err == nil {
			r.rank = n
		}
		for name := range strings.FieldsSeq(m[2]) {
			r.rooms = append(r.rooms, strings.Trim(name, "`/"))
		}
		out = append(out, r)
	}
	if len(out) < 20 {
		t.Fatalf("only %d rows were found: the pattern is broken", len(out))
	}
	return out
}

// TestArchitectureHasTheRooms holds that the table has all rooms that there are, with their ranks, and no others.
func TestArchitectureHasTheRooms(t *testing.T) {
	named := map[string]bool{}
	for _, r := range architecture(t) {
		for _, name := range r.rooms {
			dir := filepath.Join("..", "..", name)
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				t.Errorf("ARCHITECTURE.md has the room %s, and there is no such folder", name)
			}
			room := roomOf(name)
			named[room] = true
			if !isModule(dir) && (room == "" || ranks[room] != r.rank) {
				t.Errorf("ARCHITECTURE.md gives %s rank %d, which ranks.go does not", name, r.rank)
			}
		}
	}
	for room, rank := range ranks {
		if !named[room] {
			t.Errorf("ranks.go has the room %s of rank %d, and ARCHITECTURE.md no line for it", room, rank)
		}
	}
}

// TestArchitectureNamesWhatRoomsHave holds that a room's line names the folders in it.
func TestArchitectureNamesWhatRoomsHave(t *testing.T) {
	does := map[string]string{}
	for _, r := range architecture(t) {
		for _, name := range r.rooms {
			does[name] = r.does
		}
	}
	for _, f := range house(t) {
		if f.name != "doc.go" { // one a package
			continue
		}
		line, ok := does[roomOf(f.pkg)]
		rest, below := strings.CutPrefix(f.pkg, roomOf(f.pkg)+"/")
		if folder, _, _ := strings.Cut(rest, "/"); ok && below && ranks[roomOf(f.pkg)] < 9 && !strings.Contains(line, "`"+folder+"`") && !strings.Contains(line, "`"+folder+"/`") {
			t.Errorf("ARCHITECTURE.md's line for %s does not name %s", roomOf(f.pkg), folder)
		}
	}
}
