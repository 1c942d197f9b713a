package offline

import "strings"

// mark is what a word or a phrase does to the statement that it stands in.
type mark uint16

const (
	markFiller   mark = 1 << iota // too common to tell statements apart, or spent in a phrase
	markNegates                   // turns polarity: not, never, without, forbidden
	markStress                    // a negator that another one absorbs: under no circumstances, nunca
	markAfter                     // a negator about what stands before it: is forbidden, off limits
	markHedge                     // weakens: maybe, ideally, not confirmed
	markDecided                   // closes a question: decided, chosen, approved
	markOpen                      // leaves one open: awaiting, undecided, your call
	markAsks                      // may leave one open: which, whether, should I
	markPermits                   // may, allowed to
	markDemands                   // must, always
	markRetracts                  // no longer, is lifted
	markBefore                    // X before Y, not X until Y
	markLater                     // X after Y, X once Y
	markExcept                    // until, unless: with a negator before it, an "only after"
	markThan                      // compares: than, over
	markBreaks                    // begins a clause of its own: but, however
)

// headMarks are the marks that a heading hands to the list under it.
const headMarks = markNegates | markHedge | markDecided | markOpen | markAsks

// markWords fills in the fold and the marks of the tokens of one sentence.
func markWords(tokens []token) {
	for i := 0; i < len(tokens); {
		if length, fold, m := phrase(tokens[i:]); length > 0 {
			for j := i; j < i+length; j++ {
				tokens[j].fold, tokens[j].mark = tokens[j].raw, markFiller
			}
			tokens[i].mark |= m
			if fold != "" {
				tokens[i].fold = fold
				tokens[i].mark &^= markFiller
			}
			i += length
			continue
		}
		t := &tokens[i]
		fold, m := lexeme(t.raw)
		t.fold = fold
		if !t.part {
			t.mark = m
		}
		if len(t.raw) == 1 && (t.name || i+1 < len(tokens) && tokens[i+1].raw == "or" && tokens[i+1].gap == gapNone) {
			t.mark = 0 // option A is not an article
		}
		i++
	}
	for i := range tokens {
		t := &tokens[i]
		// "No, leave it" answers; it does not negate what follows.
		if t.raw == "no" && i+1 < len(tokens) && tokens[i+1].gap == gapClause && (i == 0 || t.gap == gapClause) {
			t.mark = markFiller
		}
		if t.mark&markBreaks != 0 || i > 0 && subordinates(tokens[i:]) {
			t.gap = max(t.gap, gapClause)
		}
		switch stem(t.raw) {
		case "leav", "left":
			apart(tokens[i:], "alone", "modify")
		case "hold", "held":
			apart(tokens[i:], "back", "")
		case "may":
			if t.mark&markPermits != 0 && (i > 0 && (tokens[i-1].raw == "i" || tokens[i-1].raw == "we") || i+1 < len(tokens) && tokens[i+1].raw == "have") {
				t.mark = markHedge | markFiller // "I may", not "you may"
			}
		case "stop", "ceas", "quit", "skip":
			if i+1 < len(tokens) && len(tokens[i+1].raw) > 5 && strings.HasSuffix(tokens[i+1].raw, "ing") {
				t.mark = markNegates | markFiller
			}
		}
		if (t.raw == "and" || t.raw == "or" || t.raw == "und" || t.raw == "y") && negatedSoon(tokens[i+1:]) {
			t.gap = max(t.gap, gapClause)
		}
		// "Never, never": the second only repeats.
		if t.mark&markNegates != 0 && i > 0 && tokens[i-1].mark&markNegates != 0 && tokens[i-1].raw == t.raw {
			t.mark |= markStress
		}
	}
}

// subordinates says whether a clause about the time or the occasion begins here.
func subordinates(tokens []token) bool {
	switch tokens[0].raw {
	case "when", "whenever":
		return tokens[0].mark&markHedge == 0
	case "as":
		_, soon := starts(tokens, "as soon as")
		_, long := starts(tokens, "as long as")
		return soon || long
	}
	return false
}

// apart reads a verb whose particle stands behind its object: "leave X alone" is
// "do not modify X", and "hold X back" negates what is done with X.
func apart(tokens []token, particle, fold string) {
	for i := 1; i < len(tokens) && tokens[i].gap < gapClause; i++ {
		if tokens[i].raw != particle {
			continue
		}
		tokens[0].mark |= markFiller
		tokens[i].mark = markNegates | markAfter
		if fold == "" {
			tokens[i].mark |= markFiller
		} else {
			tokens[i].fold = fold
		}
		return
	}
}

func negatedSoon(tokens []token) bool {
	for i := 0; i < len(tokens) && i < 2; i++ {
		if tokens[i].mark&(markNegates|markStress) != 0 && tokens[i].raw != "no" {
			return true
		}
	}
	return false
}

// starts says whether the tokens begin with these words.
func starts(tokens []token, words string) (int, bool) {
	n := 0
	for word := range strings.SplitSeq(words, " ") {
		if n >= len(tokens) || tokens[n].raw != word || n > 0 && tokens[n].gap >= gapHard {
			return 0, false
		}
		n++
	}
	return n, true
}

// phraseOf finds the longest of the phrases that the tokens begin with.
func phraseOf(tokens []token, fold string, m mark, phrases ...string) (int, string, mark) {
	best := 0
	for _, words := range phrases {
		if n, ok := starts(tokens, words); ok && n > best {
			best = n
		}
	}
	if best == 0 {
		return 0, "", 0
	}
	return best, fold, m
}

// phrase recognises expressions of several words at the beginning of tokens.
func phrase(tokens []token) (length int, fold string, m mark) {
	switch tokens[0].raw {
	case "under":
		return phraseOf(tokens, "", markNegates|markStress, "under no circumstances", "under no condition", "under no conditions")
	case "in":
		return phraseOf(tokens, "", markNegates|markStress, "in no case", "in no event")
	case "at":
		n, f, k := phraseOf(tokens, "", markNegates|markStress, "at no point", "at no time")
		if n == 0 {
			n, f, k = phraseOf(tokens, "", markFiller, "at once", "at the same time")
		}
		if n == 0 {
			n, f, k = phraseOf(tokens, "more", markNegates, "at most")
		}
		if n == 0 {
			n, f, k = phraseOf(tokens, "more", 0, "at least")
		}
		if n == 0 {
			n, f, k = phraseOf(tokens, "", markHedge, "at your discretion")
		}
		return n, f, k
	case "by":
		return phraseOf(tokens, "", markNegates|markStress, "by no means")
	case "on":
		return phraseOf(tokens, "", markNegates|markStress, "on no account")
	case "up":
		if n, f, k := phraseOf(tokens, "", markOpen, "up to you", "up for debate", "up in the air"); n > 0 {
			return n, f, k
		}
		if n, f, k := phraseOf(tokens, "", markFiller, "up to date", "up to now", "up to speed"); n > 0 {
			return n, f, k
		}
		return phraseOf(tokens, "more", markNegates, "up to")
	case "off":
		return phraseOf(tokens, "", markNegates|markAfter, "off limits", "off the table")
	case "hands":
		return phraseOf(tokens, "", markNegates, "hands off")
	case "stay", "keep", "steer":
		return phraseOf(tokens, "", markNegates, "stay away from", "stay out of", "stay clear of", "keep away from",
			"keep out of", "keep clear of", "keep your hands off", "steer clear of")
	case "no":
		if n, f, k := phraseOf(tokens, "", markNegates|markAfter|markRetracts, "no longer applies", "no longer apply", "no longer holds",
			"no longer valid", "no longer in force", "no longer true"); n > 0 {
			return n, f, k
		}
		if n, f, k := phraseOf(tokens, "", markNegates|markRetracts, "no longer"); n > 0 {
			return n, f, k
		}
		if n, f, k := phraseOf(tokens, "", markOpen, "no decision", "no answer", "no reply", "no choice"); n > 0 {
			return n, f, k
		}
		if n, f, k := phraseOf(tokens, "", markPermits, "no need to wait", "no need to wait for", "no need to wait until", "no harm in", "no harm",
			"no objection to", "no objections to"); n > 0 {
			return n, f, k
		}
		return phraseOf(tokens, "", markFiller, "no problem", "no worries", "no doubt", "no rush", "no hurry",
			"no matter what", "no exceptions", "no exception")
	case "not":
		if n, f, k := phraseOf(tokens, "", markHedge, "not confirmed", "not yet confirmed", "not certain", "not sure", "not verified",
			"not yet verified", "not proven", "not entirely sure"); n > 0 {
			return n, f, k
		}
		if n, f, k := phraseOf(tokens, "", markOpen, "not decided", "not yet decided", "not settled", "not been decided", "not yet been decided",
			"not said", "not yet said", "not replied", "not told", "not been told", "not been answered", "not yet been answered", "not heard",
			"not answered", "not yet answered", "not chosen", "not yet chosen"); n > 0 {
			return n, f, k
		}
		if n, f, k := phraseOf(tokens, "", markNegates|markRetracts, "not any more", "not anymore"); n > 0 {
			return n, f, k
		}
		if n, f, k := phraseOf(tokens, "", markNegates|markAfter, "not allowed", "not permitted", "not acceptable", "not an option",
			"not okay", "not ok", "not required", "not needed", "not necessary", "not true"); n > 0 {
			return n, f, k
		}
		return phraseOf(tokens, "", markFiller, "not only", "not just", "not a problem", "not forget", "not to forget", "not to mention")
	case "nothing":
		return phraseOf(tokens, "", markPermits, "nothing against", "nothing wrong with")
	case "prefer", "hope", "aim":
		raw := tokens[0].raw
		return phraseOf(tokens, "", markHedge, raw+" to", raw+" not to")
	case "rather":
		return phraseOf(tokens, "", markNegates, "rather than")
	case "instead":
		return phraseOf(tokens, "", markNegates, "instead of")
	case "other":
		return phraseOf(tokens, "", markNegates, "other than")
	case "apart", "aside":
		return phraseOf(tokens, "", markNegates, "apart from", "aside from")
	case "with":
		return phraseOf(tokens, "", markNegates, "with the exception of")
	case "if":
		return phraseOf(tokens, "", markHedge, "if possible", "if convenient", "if you can", "if you like", "if time allows",
			"if time permits", "if there is time", "if feasible", "if it is convenient")
	case "when":
		return phraseOf(tokens, "", markHedge, "when convenient", "when possible", "when you can", "when time allows")
	case "where":
		return phraseOf(tokens, "", markHedge, "where possible", "where feasible")
	case "would":
		if n, f, k := phraseOf(tokens, "", markHedge, "would be nice", "would be good", "would be great", "would be better", "would be ideal",
			"would be preferable", "would rather", "would prefer", "would prefer to"); n > 0 {
			return n, f, k
		}
		return phraseOf(tokens, "", markAsks, "would you like", "would you prefer", "would you rather")
	case "nice":
		return phraseOf(tokens, "", markHedge, "nice to have")
	case "try":
		if n, f, k := phraseOf(tokens, "", markHedge|markNegates, "try not to", "try to avoid", "try never to"); n > 0 {
			return n, f, k
		}
		return phraseOf(tokens, "", markHedge, "try to", "try and")
	case "only", "just", "merely":
		raw := tokens[0].raw
		return phraseOf(tokens, "", markHedge, raw+" a preference", raw+" a suggestion", raw+" a wish", raw+" a recommendation", raw+" an idea",
			raw+" a proposal", raw+" a guess")
	case "ignore", "disregard", "forget", "skip":
		raw := tokens[0].raw
		return phraseOf(tokens, "", markRetracts, raw+" the following", raw+" this", raw+" that", raw+" these", raw+" what follows", raw+" about")
	case "for":
		return phraseOf(tokens, "", markHedge, "for now", "for the time being", "for the moment")
	case "as":
		return phraseOf(tokens, "", markHedge, "as far as possible", "as best you can")
	case "i":
		if n, f, k := phraseOf(tokens, "", markHedge, "i think", "i guess", "i believe", "i assume", "i suppose", "i am guessing", "i am not sure"); n > 0 {
			return n, f, k
		}
		return 0, "", 0
	case "could", "can":
		return phraseOf(tokens, "", markFiller, "could you", "can you", "could we", "can we")
	case "your":
		return phraseOf(tokens, "", markOpen, "your call", "your choice", "your decision", "your pick")
	case "do":
		return phraseOf(tokens, "", markAsks, "do you want", "do you prefer", "do we want")
	case "should", "shall":
		return phraseOf(tokens, "", markAsks, "should i", "should we", "shall i", "shall we")
	case "let":
		return phraseOf(tokens, "", markOpen, "let me know")
	case "to":
		return phraseOf(tokens, "", markOpen, "to be decided", "to be determined", "to be confirmed")
	case "open":
		return phraseOf(tokens, "", markOpen, "open question", "open questions", "open point", "open points")
	case "waiting", "waits":
		return phraseOf(tokens, "", markOpen, "waiting for", "waiting on", "waits for")
	case "goes", "going", "go", "went":
		return phraseOf(tokens, "", markDecided, "goes with", "going with", "going for", "went with", "went for", "go for")
	case "signed":
		return phraseOf(tokens, "approv", markDecided, "signed off", "signed off on")
	case "sign":
		return phraseOf(tokens, "approv", 0, "sign off", "sign off on")
	case "turn", "turned", "switch", "switched":
		if n, f, k := phraseOf(tokens, "enabl", markNegates, "turn off", "turned off", "switch off", "switched off"); n > 0 {
			return n, f, k
		}
		return phraseOf(tokens, "enabl", 0, "turn on", "turned on", "switch on", "switched on")
	case "roll", "rolled":
		return phraseOf(tokens, "deploy", 0, "roll out", "rolled out")
	case "pull", "merge":
		return phraseOf(tokens, "pr", 0, "pull request", "pull requests", "merge request", "merge requests")
	case "ask", "asks", "asked", "asking":
		return phraseOf(tokens, "", markAsks, "asked about", "asked if", "asked whether", "asked which", "asked what", "asked again",
			"asks about", "asks if", "asks whether", "asks which", "asking about", "asking if", "asking whether", "asking which")
	case "scratch":
		return phraseOf(tokens, "", markRetracts, "scratch that")
	case "never":
		if n, f, k := phraseOf(tokens, "", markFiller, "never forget"); n > 0 {
			return n, f, k
		}
		return phraseOf(tokens, "", markRetracts, "never mind")
	case "without":
		if n, f, k := phraseOf(tokens, "", markBefore, "without waiting until", "without waiting for", "without waiting till"); n > 0 {
			return n, f, k
		}
		return phraseOf(tokens, "", markFiller, "without fail", "without exception", "without question", "without doubt")
	case "called":
		return phraseOf(tokens, "", markRetracts, "called off")
	case "does":
		return phraseOf(tokens, "", markNegates|markAfter|markRetracts, "does not apply", "does not hold", "does not count")
	case "must":
		return phraseOf(tokens, "", markNegates, "must avoid")
	case "followed":
		return phraseOf(tokens, "", markBefore, "followed by")
	case "prior":
		return phraseOf(tokens, "", markBefore, "prior to")
	case "make":
		return phraseOf(tokens, "", markDemands, "make sure")
	case "has", "have", "needs", "need":
		return phraseOf(tokens, "", markDemands, "has to", "have to", "needs to", "need to")
	case "free", "ok", "okay", "fine":
		return phraseOf(tokens, "", markPermits, "free to", "ok to", "okay to", "fine to")
	case "allowed":
		return phraseOf(tokens, "", markPermits, "allowed to")
	case "auf":
		return phraseOf(tokens, "", markNegates|markStress, "auf keinen fall", "auf gar keinen fall")
	case "bajo":
		return phraseOf(tokens, "", markNegates|markStress, "bajo ninguna circunstancia", "bajo ningún concepto")
	case "en":
		return phraseOf(tokens, "", markNegates|markStress, "en ningún caso", "en aucun cas")
	case "si":
		return phraseOf(tokens, "", markHedge, "si es posible", "si possible")
	case "wenn":
		return phraseOf(tokens, "", markHedge, "wenn möglich", "wenn es geht")
	case "statt", "anstatt", "anstelle":
		return phraseOf(tokens, "", markNegates, "statt", "anstatt", "anstelle von")
	case "lugar", "vez":
		return phraseOf(tokens, "", markNegates, "lugar de", "vez de")
	case "nicht":
		return phraseOf(tokens, "", markHedge, "nicht bestätigt", "nicht sicher")
	}
	return 0, "", 0
}

// lexeme folds one lower-case word and says what it does.
func lexeme(word string) (string, mark) {
	switch word {
	case "the", "a", "an", "of", "to", "in", "on", "at", "for", "by", "with", "as", "is", "are", "was", "were", "be", "been", "being",
		"am", "do", "does", "did", "done", "doing", "has", "have", "had", "having", "will", "would", "it", "its", "this", "that", "these",
		"those", "there", "here", "i", "you", "he", "she", "we", "they", "me", "my", "your", "our", "us", "their", "them", "his", "her",
		"and", "or", "nor", "if", "so", "also", "just", "please", "ever", "any", "anything", "anybody", "anyone", "all", "everything", "some", "let", "lets", "want", "get",
		"got", "from", "into", "than", "what", "who", "how", "why", "when", "where", "both", "under", "between", "through", "during", "within", "against", "onto",
		"upon", "via", "across", "well", "yes", "ok", "okay", "now", "yet",
		"still", "such", "own", "about", "while", "up", "out", "off", "e", "g", "s", "re", "user", "agent", "assistant", "should", "shall", "can", "instead",
		"der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "und", "oder", "ist", "sind", "im", "zu", "mit",
		"auf", "von", "bitte", "wir", "ich", "du", "sie", "es", "el", "la", "los", "las", "un", "una", "de", "del", "y", "o", "en", "por",
		"para", "que", "se", "al", "le", "les", "et", "ou", "au":
		return small(word)
	case "not", "never", "without", "avoid", "avoids", "avoiding", "refrain", "refrains", "nothing", "nobody", "none", "neither",
		"nowhere", "except", "excluding", "besides", "ohne", "sin", "sans", "pas", "jamais", "不", "没", "勿", "别", "未":
		return word, markNegates | markFiller
	case "nicht", "nie", "niemals", "kein", "keine", "keinen", "keinem", "keiner", "keines":
		return word, markNegates | markAfter | markFiller // they stand behind the verb
	case "no":
		return word, markNegates | markFiller
	case "nunca", "jamás", "jamas", "ningún", "ninguno", "ninguna", "nada", "tampoco":
		return word, markNegates | markStress | markFiller
	case "forbidden", "prohibited", "banned", "disallowed", "impermissible", "unacceptable", "verboten", "untersagt", "prohibido", "prohibida", "interdit":
		return word, markNegates | markAfter | markFiller
	case "forbid", "forbids", "prohibit", "prohibits":
		return word, markNegates | markFiller
	case "maybe", "perhaps", "ideally", "preferably", "probably", "possibly", "presumably", "might", "could", "optional", "optionally",
		"likely", "apparently", "seemingly", "suspect", "suspected", "unconfirmed", "unverified", "uncertain", "unsure", "unclear",
		"tentative", "tentatively", "provisionally", "supposedly", "guess", "hopefully", "seems", "appears",
		"möglichst", "vielleicht", "wahrscheinlich", "vermutlich", "eventuell", "möglicherweise", "quizás", "quizá", "probablemente", "posiblemente", "peut":
		return word, markHedge | markFiller
	case "may":
		return word, markPermits | markFiller
	case "permitted", "allowed", "allow", "allows", "welcome":
		return word, markPermits | markFiller
	case "must", "always", "required", "mandatory", "ensure", "muss", "immer", "debe", "siempre":
		return word, markDemands | markFiller
	case "only", "solely", "exclusively":
		return "only", markDemands
	case "which", "whether":
		return word, markAsks | markFiller
	case "undecided", "awaiting", "pending", "tbd", "unanswered", "unresolved":
		return word, markOpen | markFiller
	case "question", "questions":
		return "question", markAsks | markFiller
	case "decided", "decides", "decision", "chose", "chosen", "chooses", "agreed", "selected", "settled", "picked", "opted", "resolved":
		return word, markDecided | markFiller
	case "approved", "approves":
		return "approv", markDecided
	case "confirmed", "confirms":
		return "confirm", markDecided
	case "lifted", "revoked", "rescinded", "withdrawn", "overruled", "overridden", "obsolete", "void", "disregard", "retracted", "cancelled", "canceled",
		"outdated", "superseded", "repealed", "waived":
		return word, markRetracts
	case "before", "until", "till", "unless", "antes", "bevor", "bis":
		if word == "before" || word == "antes" || word == "bevor" {
			return word, markBefore | markExcept | markFiller
		}
		return word, markExcept | markFiller
	case "then", "danach", "luego":
		return word, markBefore | markFiller
	case "after", "once", "nachdem", "después", "following":
		return word, markLater | markFiller
	case "over":
		return word, markThan | markFiller
	case "but", "however", "although", "though", "whereas", "because", "since", "whenever", "aber", "sondern", "pero", "sino":
		return word, markBreaks | markFiller
	case "untouched":
		return "modify", markNegates
	case "unmodified", "unchanged", "unedited", "unaltered":
		return "modify", markNegates
	case "disable", "disables", "disabled", "disabling", "deactivate", "deactivated":
		return "enabl", markNegates
	case "enable", "enables", "enabled", "enabling", "activate", "activated":
		return "enabl", 0
	case "exclude", "excludes", "excluded":
		return "includ", markNegates
	case "reject", "rejects", "rejected", "decline", "declined":
		return "accept", markNegates
	case "less", "fewer":
		return "more", markNegates
	case "two":
		return "2", 0
	case "three":
		return "3", 0
	case "four":
		return "4", 0
	case "five":
		return "5", 0
	case "six":
		return "6", 0
	case "seven":
		return "7", 0
	case "eight":
		return "8", 0
	case "nine":
		return "9", 0
	case "ten":
		return "10", 0
	case "twelve":
		return "12", 0
	}
	return synonym(stem(word)), 0
}

// small folds the words that are in every text.
func small(word string) (string, mark) {
	switch word {
	case "than":
		return word, markThan | markFiller
	}
	return word, markFiller
}

// synonym folds stems that say the same in the work of a coding agent.
func synonym(s string) string {
	switch s {
	case "modify", "edit", "chang", "touch", "alter", "writ", "wrote", "written", "updat", "amend", "rewrit", "modification", "overwrit":
		return "modify"
	case "delet", "remov", "drop", "eras", "deletion", "removal":
		return "delet"
	case "run", "ran", "execut", "execution":
		return "run"
	case "deploy", "ship", "releas", "deployment", "rollout":
		return "deploy"
	case "creat", "mak", "made", "add", "open", "creation":
		return "creat"
	case "send", "sent", "email", "mail", "e-mail":
		return "send"
	case "used", "using", "utilis", "utiliz", "usag":
		return "use"
	case "directory", "folder", "dir":
		return "directory"
	case "approv", "approval", "greenlight", "signoff":
		return "approv"
	case "confirm", "confirmation":
		return "confirm"
	case "repo", "repository":
		return "repo"
	case "db", "databas":
		return "db"
	case "config", "configuration":
		return "config"
	case "doc", "documentation":
		return "doc"
	case "env", "environment":
		return "env"
	case "prod", "production":
		return "prod"
	case "rev", "revision":
		return "rev"
	case "pr", "prs":
		return "pr"
	case "migrat", "migration":
		return "migrat"
	case "wait", "hold":
		return "wait"
	case "keep", "kept", "retain":
		return "keep"
	case "told", "tell", "inform", "notify", "notification":
		return "tell"
	case "build", "built":
		return "build"
	case "merg", "merger":
		return "merg"
	case "read", "view":
		return "read"
	case "max", "maximum":
		return "max"
	}
	return s
}

// stem takes the common English endings off a word.
func stem(word string) string {
	if len(word) < 4 || word[0] >= '0' && word[0] <= '9' {
		return word
	}
	s := word
	switch {
	case strings.HasSuffix(s, "ies") && len(s) > 4, strings.HasSuffix(s, "ied") && len(s) > 4:
		return s[:len(s)-3] + "y"
	case strings.HasSuffix(s, "ing") && len(s) > 5 && hasVowel(s[:len(s)-3]):
		s = undouble(s[:len(s)-3])
	case strings.HasSuffix(s, "ed") && len(s) > 4 && hasVowel(s[:len(s)-2]):
		s = undouble(s[:len(s)-2])
	case strings.HasSuffix(s, "sses"), strings.HasSuffix(s, "shes"), strings.HasSuffix(s, "ches"), strings.HasSuffix(s, "xes"):
		return s[:len(s)-2]
	case strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss") && !strings.HasSuffix(s, "us") && !strings.HasSuffix(s, "is"):
		s = s[:len(s)-1]
	}
	if len(s) > 3 && s[len(s)-1] == 'e' {
		s = s[:len(s)-1]
	}
	return s
}

func hasVowel(s string) bool { return strings.ContainsAny(s, "aeiouy") }

func undouble(s string) string {
	n := len(s)
	if n > 3 && s[n-1] == s[n-2] && strings.IndexByte("bdgmnprt", s[n-1]) >= 0 {
		return s[:n-1]
	}
	return s
}
