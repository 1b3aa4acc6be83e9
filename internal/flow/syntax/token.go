package syntax

// kind is the kind of a token.
type kind int

const (
	endOfFile kind = iota
	newline        // the end of a line that has something
	indent         // the next line is one level deeper
	dedent         // the next line is one level less deep
	word           // a name
	keyword
	intNumber
	floatNumber
	text // a string
	mark // everything else
)

// token is a word of the text.
type token struct {
	Span
	kind    kind
	text    string // as it stands there; of a mark or a keyword what it is
	integer uint64 // value of an intNumber, at most 2^63
	number  float64
	value   string // of a string
	comment string // behind a newline, with its "#"
}

// is reports whether the token is a certain mark or keyword.
func (t token) is(text string) bool { return (t.kind == mark || t.kind == keyword) && t.text == text }

// shows is how a message calls the token.
func (t token) shows() string {
	switch t.kind {
	case endOfFile:
		return "the end of the file"
	case newline:
		return "the end of the line"
	case indent:
		return "a deeper indentation"
	case dedent:
		return "the end of the block"
	case text:
		return "the text " + clip(t.text, 40)
	case keyword:
		return "the keyword \"" + t.text + "\""
	}
	return "\"" + clip(t.text, 40) + "\""
}

// clip cuts a long text.
func clip(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "..."
		}
		n++
	}
	return s
}

// Keywords are the words that cannot be names.
var Keywords = []string{
	"and", "as", "break", "continue", "elif", "else", "except", "False", "fn", "for", "if", "in", "None", "not", "or",
	"parallel", "pass", "return", "sleep", "spread", "True", "try", "while",
}

var isKeyword = setOf(Keywords...)

func setOf(words ...string) map[string]bool {
	set := map[string]bool{}
	for _, w := range words {
		set[w] = true
	}
	return set
}

// marks are the tokens that are neither words nor values, longer ones first.
var marks = []string{
	"->", "==", "!=", "<=", ">=", "//",
	"(", ")", "[", "]", "{", "}", ",", ":", ".", "=", "@", "+", "-", "*", "/", "%", "<", ">",
}
