package archtest

import "regexp"

// BannedWords are words that text of this repository avoids: programs and objects are not persons, and documents do not
// refer to files outside the repository.
var BannedWords = regexp.MustCompile(`\b((?i:whom|whoever|somebody|is told|tells of|in vain|thrown out|has the say|sees to)|[Nn]obody)\b` +
	`|\b(features\.md|DESIGN\.md|language\.md)\b`)
