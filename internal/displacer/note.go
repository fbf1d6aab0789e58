package displacer

import "unicode/utf8"

// maxNoteBytes is the limit of the API for the note of an event.
const maxNoteBytes = 1024

// TruncateNote shortens a note to the limit of the API without splitting a character.
func TruncateNote(note string) string {
	const ellipsis = " ..."
	if len(note) <= maxNoteBytes {
		return note
	}
	end := maxNoteBytes - len(ellipsis)
	for !utf8.RuneStart(note[end]) {
		end--
	}
	return note[:end] + ellipsis
}
