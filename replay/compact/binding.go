package compact

import (
	"slices"
	"strings"
)

// BindingClass is why a sentence binds what comes after it.
type BindingClass string

// The classes, from the one that a full ledger gives up first to the one that it
// gives up last.
const (
	BindsReference BindingClass = "reference" // a name, a place or a number needed again
	BindsHedge     BindingClass = "hedge"     // known to be uncertain
	BindsChange    BindingClass = "change"    // takes the place of something said before
	BindsQuestion  BindingClass = "question"  // asked or offered, and open
	BindsDecision  BindingClass = "decision"  // approved or refused
	BindsPromise   BindingClass = "promise"   // the speaker will do it
	BindsRule      BindingClass = "rule"      // allowed, forbidden or required
)

// bindingClasses lists the classes from weak to strong.
func bindingClasses() []BindingClass {
	return []BindingClass{BindsReference, BindsHedge, BindsChange, BindsQuestion, BindsDecision, BindsPromise, BindsRule}
}

func (c BindingClass) strength() int { return slices.Index(bindingClasses(), c) }

// Sentence is one sentence that binds.
type Sentence struct {
	// Text is the sentence as it stands, without the mark of a list item.
	Text string
	// Offset is where it stands, in bytes.
	Offset int
	// Class is the strongest of Classes.
	Class   BindingClass
	Classes []BindingClass
}

// Binding finds the sentences of a text that bind later turns, by its form alone:
// rules, promises, decisions, open questions and offers, what is only suspected,
// what replaces something, and what has a name that will be needed again. The
// items of a list bind if the line that introduces it does. Code blocks are
// read for rules alone.
//
// It reads English best, and the commonest forms of German, Spanish, French and
// Chinese. It would rather keep a sentence too many than lose one.
func Binding(text string) []Sentence {
	var found []Sentence
	var inherited []BindingClass // from the line that introduces a list
	for _, p := range sentencesOf(text) {
		classes := classify(p)
		switch {
		case p.item:
			classes = mergeClasses(classes, inherited)
		case p.code:
		case p.first:
			inherited = nil
		}
		if !p.item && !p.code && (strings.HasSuffix(p.text, ":") || strings.HasSuffix(p.text, "：") || isQuestion(p.text)) {
			inherited = slices.DeleteFunc(slices.Clone(classes), func(c BindingClass) bool { return c == BindsReference || c == BindsHedge })
		}
		if len(classes) > 0 {
			found = append(found, Sentence{Text: p.text, Offset: p.offset, Class: classes[len(classes)-1], Classes: classes})
		}
	}
	return found
}

// mergeClasses joins two lists of classes, weak to strong.
func mergeClasses(a, b []BindingClass) []BindingClass {
	var out []BindingClass
	for _, c := range bindingClasses() {
		if slices.Contains(a, c) || slices.Contains(b, c) {
			out = append(out, c)
		}
	}
	return out
}

// maxReferenceLength is the length in bytes from which a line is pasted data
// rather than a sentence: names alone do not make it bind.
const maxReferenceLength = 600

func classify(p phrase) []BindingClass {
	t := newReading(p.text)
	var found []BindingClass
	for i := range bindingRules() {
		rule := &bindingRules()[i]
		if slices.Contains(found, rule.class) {
			continue
		}
		if p.code && rule.class != BindsRule || rule.class == BindsReference && len(p.text) > maxReferenceLength {
			continue
		}
		if rule.matches(t) {
			found = append(found, rule.class)
		}
	}
	return mergeClasses(found, nil)
}

func isQuestion(text string) bool {
	text = strings.TrimRight(text, `"')]»”*_ `)
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")
}

// bindingRule is one form of sentence and why it binds: by one of some words, by
// a piece of text anywhere, or by a pattern.
type bindingRule struct {
	class BindingClass
	why   string
	// words are words and phrases in lower case, each a regular expression that
	// matches whole words.
	words []string
	// parts are pieces of text in a script that does not space its words.
	parts []string
	// pattern is a regular expression, and needs the characters of which a text
	// that it matches has at least one before its end, or "".
	pattern, needs string
}

// bindingTable is what binds, by its form.
func bindingTable() []bindingRule {
	return []bindingRule{
		{class: BindsRule, why: "says what has to be or must not be", words: []string{
			`must`, `must ?n['o’]?t`, `mustn['’]t`, `never`, `do not`, `don['’]?t`, `does not`, `shall`, `should`,
			`shouldn['’]t`, `cannot`, `can['’]?t`, `can not`, `may not`, `may only`, `ha(?:s|ve) to`, `needs? to`,
			`required?`, `requires`, `requirement`, `mandatory`, `forbid(?:s|den)?`, `prohibited`, `not allowed`,
			`is allowed`, `allowed to`, `disallow(?:ed)?`, `banned`, `off[- ]limits`, `out of scope`, `in scope`,
			`read[- ]only`, `hands off`,
		}},
		{class: BindsRule, why: "narrows what is allowed", words: []string{
			`only`, `always`, `no`, `nothing`, `none`, `nobody`, `no one`, `nowhere`, `under no circumstances`,
			`solely`, `exclusively`, `exactly`, `at (?:most|least)`,
			`(?:no|not) (?:more|less|later|earlier|fewer) than`, `maximum`, `minimum`, `limit(?:ed)?`, `unless`,
			`except`, `without`, `instead`, `every time`, `each time`, `whenever`,
		}},
		{class: BindsRule, why: "tells when or in what order", words: []string{
			`wait`, `waits`, `until`, `not before`, `not yet`, `before (?:you|we|i|any|the|it|each|every|\pL+ing)`,
			`after (?:i|we|you)`, `first`, `ask (?:me|us|first|before)`, `check with`, `deadline`,
			`by (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|tonight|noon|eod|end of)`,
			`freeze`, `frozen`, `hold (?:off|on)`, `stop`, `pause`,
		}},
		{class: BindsRule, why: "asks for something to hold on", words: []string{
			`keep`, `keeps`, `leave`, `stay`, `stays`, `stick (?:to|with)`, `avoid`, `refrain`, `make sure`, `ensure`,
			`be sure`, `remember`, `treat`, `preserve`, `untouched`, `as is`, `please`, `prefer`, `from now on`,
			`going forward`, `for the rest of`, `policy`, `rule`, `rules`, `convention`, `constraint`, `constraints`,
			`guarantee`, `stays? (?:at|on|in)`,
		}},
		{class: BindsRule, why: "tells how to do things from now on", pattern: `(?i)^[^\pL\pN]*(?:(?:and|also|then|so|but|now),? )?(?:use|write|answer|reply|respond|speak|address|name|call|label|format|sign|log|store|save|put|copy|send|report)\s`},
		{class: BindsRule, why: "German", words: []string{
			`muss`, `müssen`, `musst`, `muß`, `darf`, `darfst`, `dürfen`, `soll`, `sollen`, `sollst`, `nie`,
			`niemals`, `nicht`, `kein(?:e|en|er|em|es)?`, `nur`, `immer`, `ausschließlich`, `erst wenn`,
			`erst nach(?:dem)?`, `bis ich`, `bis wir`, `warte`, `warten`, `verboten`, `erlaubt`, `bitte`, `ohne`,
			`niemand`, `nichts`, `mindestens`, `höchstens`, `spätestens`, `vermeide`, `lass`,
		}},
		{class: BindsRule, why: "Spanish", words: []string{
			`nunca`, `jamás`, `deb(?:e|es|en|emos|ería|erías)`, `tienes? que`, `tenemos que`, `hay que`, `solo`,
			`sólo`, `solamente`, `únicamente`, `siempre`, `prohibid[oa]s?`, `permitid[oa]s?`, `hasta que`,
			`espera(?:r|d)?`, `antes de`, `sin`, `ningun[oa]?`, `ningún`, `nada`, `por favor`, `evita(?:r)?`,
			`mantén`, `mantener`, `asegúrate`,
		}},
		{class: BindsRule, why: "French", words: []string{
			`jamais`, `n['’e][^.]*\b(?:pas|plus|rien|aucune?)`, `pas de`, `doi(?:t|s|vent)`, `dev(?:ez|ons|rait|ra)`,
			`il faut`, `toujours`, `seulement`, `uniquement`, `interdit(?:e|es|s)?`, `autorisée?s?`,
			`attend(?:s|ez|re)`, `avant (?:que|de|d['’]\pL+)`, `jusqu['’]\pL+`, `sauf`, `sans`, `aucune?`, `veuillez`,
			`merci de`, `s['’]il (?:te|vous) pla[iî]t`, `évite[rz]?`, `garde[rz]?`,
		}},
		{class: BindsRule, why: "Chinese", parts: []string{
			`必须`, `必須`, `不要`, `不得`, `不能`, `不准`, `不许`, `不可`, `不应`, `禁止`, `严禁`, `切勿`, `请勿`, `勿`, `别`, `只能`, `只有`, `仅`,
			`只在`, `总是`, `始终`, `一律`, `等到`, `之前`, `务必`, `一定`, `请`, `保持`, `应该`, `需要`, `至少`, `最多`, `直到`,
		}},

		{class: BindsPromise, why: "the speaker commits to something", words: []string{
			`i (?:will|shall|won['’]?t|promise|commit|owe|undertake)`, `i['’]ll`, `i['’]m going to`, `i am going to`,
			`we (?:will|shall|won['’]?t|promise)`, `we['’]ll`, `let me`, `will do`, `remind (?:me|you|us)`,
			`you (?:have my word|can count on me)`, `on my list`, `get back to`, `follow up`,
			`you['’]ll (?:get|have|see|hear)`, `i['’]ve noted`, `noted`, `i (?:plan|intend) to`,
		}},
		{class: BindsPromise, why: "German, Spanish, French", words: []string{
			`ich (?:werde|verspreche|melde|prüfe|mache)`, `wir werden`, `merke ich mir`, `(?:lo )?prometo`, `voy a`,
			`vamos a`, `me encargo`, `je (?:vais|promets|ferai|m['’]en)`, `j['’](?:irai|attendrai|aurai)`,
			`nous allons`, `promis`, `haré`, `avisaré`, `esperaré`, `recordaré`,
		}},
		{class: BindsPromise, why: "Chinese", parts: []string{`我会`, `我將`, `我将`, `我保证`, `我来`, `我承诺`, `我们会`, `记住了`}},

		{class: BindsDecision, why: "grants, refuses or settles", words: []string{
			`go ahead`, `approved?`, `approval`, `approves`, `you may`, `you can`, `lgtm`, `ship it`, `sounds good`,
			`agreed?`, `disagree`, `declined?`, `reject(?:ed)?`, `refused?`, `veto(?:ed)?`, `sign(?:ed)?[- ]?off`,
			`(?:ok|okay|fine|free) (?:to|by|with)`, `permission`, `granted`, `decided`, `decision`, `settled`,
			`chose`, `chosen`, `pick(?:ed)?`, `let['’]s (?:go|use|do|keep|stick|take)`, `go(?:ing)? with`,
			`confirm(?:ed)?`, `accept(?:ed)?`, `consent`, `authori[sz]ed?`, `i want`, `we want`,
			`i['’]d (?:like|prefer|rather)`,
		}},
		{class: BindsDecision, why: "an answer of one word", pattern: `(?i)^[^\pL\pN]*(?:yes|yep|yeah|no|nope|ok|okay|sure|agreed|correct|right|exactly|ja|nein|genau|sí|si|oui|non|d['’]accord|vale|claro|好|好的|可以|不行|是|是的|对|不是|不)(?:[^\pL\pN]|$)`},
		{class: BindsDecision, why: "German, Spanish, French", words: []string{
			`genehmigt`, `freigegeben`, `freigabe`, `abgelehnt`, `einverstanden`, `entschieden`, `aprobad[oa]`,
			`rechazad[oa]`, `de acuerdo`, `adelante`, `decidid[oa]`, `approuvée?`, `refusée?`, `d['’]accord`,
			`validée?`, `décidée?`,
		}},
		{class: BindsDecision, why: "Chinese", parts: []string{`同意`, `批准`, `拒绝`, `可以`, `不行`, `决定`, `确认`}},

		{class: BindsQuestion, why: "a question", pattern: `[?？][\s"'’”)\]*_»]*$`},
		{class: BindsQuestion, why: "waits for somebody to settle it", words: []string{
			`should (?:i|we)`, `shall (?:i|we)`, `which (?:of|one|option)`, `do you want`,
			`would you (?:like|prefer|rather)`, `let (?:me|us) know`, `tell me (?:which|whether|if|what)`,
			`your call`, `up to you`, `you decide`, `not (?:yet )?(?:decided|settled|agreed|answered|resolved)`,
			`undecided`, `unresolved`, `unanswered`, `pending`, `tbd`, `tbc`,
			`to be (?:decided|confirmed|determined)`, `open (?:question|point|issue)s?`, `still open`, `remains open`,
			`awaiting`, `waiting (?:for|on)`, `parked`, `need your`,
			`(?:once|when|after) you (?:decide|confirm|approve|choose|answer)`,
		}},
		{class: BindsQuestion, why: "an offer to choose from", words: []string{
			`options?`, `options? [a-d1-9]`, `variant`, `alternatives?`, `alternatively`, `either`,
			`i(?:['’]d| would)? (?:recommend|suggest|propose|lean)`, `my (?:recommendation|suggestion|preference)`,
			`recommended`, `could go either way`, `two ways`, `choices?`, `choose`,
		}, pattern: `^(?i:\(?[a-d1-9][).:] )`},
		{class: BindsQuestion, why: "German, Spanish, French", words: []string{
			`soll(?:en)? (?:ich|wir)`, `welche[rsnm]?`, `sag (?:mir )?bescheid`, `noch offen`, `offene frage`,
			`entscheide(?:st)?`, `debo`, `cuál`, `pendiente`, `dime`, `avísame`, `dois-je`, `lequel`, `laquelle`,
			`dites-moi`, `dis-moi`, `en attente`, `à décider`, `je (?:recommande|propose|suggère)`,
			`ich (?:empfehle|schlage)`, `recomiendo`, `propongo`, `¿`,
		}},
		{class: BindsQuestion, why: "Chinese", parts: []string{`是否`, `哪个`, `哪一`, `要不要`, `还是`, `吗`, `待定`, `尚未决定`, `方案`, `选项`, `建议`}},

		{class: BindsChange, why: "takes the place of what was said", words: []string{
			`moved`, `moves`, `move(?:d|s)? to`, `instead of`, `rather than`, `no longer`, `any ?more`, `replaced?`,
			`replaces`, `supersed(?:ed?|es)`, `switch(?:ed)? (?:to|from|over)`,
			`chang(?:ed?|es) (?:to|from|my|our|of)`, `renamed?`, `actually`, `scratch that`,
			`forget (?:about|the|what)`, `ignore`, `disregard`, `lifted`, `withdrawn`, `withdraw`, `cancel(?:l?ed)?`,
			`on hold`, `used to`, `deprecated`, `revert(?:ed)?`, `rolled back`, `dropped`, `obsolete`, `correction`,
			`new plan`, `now (?:lives|points|uses|is|in|on|at)`, `done`, `finished`, `completed`, `closed`,
		}},
		{class: BindsChange, why: "German, Spanish, French", words: []string{
			`statt`, `anstatt`, `anstelle`, `nicht mehr`, `ersetzt`, `verschoben`, `umbenannt`, `doch nicht`,
			`erledigt`, `en lugar de`, `en vez de`, `ya no`, `reemplazad[oa]`, `cambiad[oa]`, `se movió`, `movid[oa]`,
			`cancelad[oa]`, `au lieu de`, `remplacée?`, `déplacée?`, `annulée?`, `plutôt que`, `désormais`,
			`dorénavant`,
		}},
		{class: BindsChange, why: "Chinese", parts: []string{`改为`, `改成`, `代替`, `不再`, `移到`, `取代`, `替换`, `取消`, `作废`, `换成`}},

		{class: BindsHedge, why: "says that it is not certain", words: []string{
			`suspect(?:ed|s)?`, `not (?:yet )?(?:confirmed|verified|certain|proven|sure|clear|tested)`, `unconfirmed`,
			`unverified`, `untested`, `unproven`, `unclear`, `unsure`, `uncertain`, `probabl[ey]`, `maybe`, `perhaps`,
			`might`, `may be`, `could be`, `possibl[ey]`, `i (?:think|guess|believe|assume)`, `likely`, `seems?`,
			`appears?`, `for now`, `tentative(?:ly)?`, `assum(?:e|es|ed|ing|ption)`,
			`haven['’]t (?:verified|confirmed|checked|tested)`, `have not (?:verified|confirmed|checked|tested)`,
			`hypothesis`, `guess`, `as far as i know`, `so far`, `roughly`, `approximately`, `if possible`, `ideally`,
			`rumou?r`,
		}},
		{class: BindsHedge, why: "German, Spanish, French", words: []string{
			`vermutlich`, `vielleicht`, `wahrscheinlich`, `eventuell`, `möglicherweise`, `unbestätigt`,
			`nicht bestätigt`, `ich (?:glaube|vermute|denke)`, `quizás?`, `tal vez`, `probablemente`, `sospecho`,
			`sin confirmar`, `parece`, `creo`, `peut-être`, `probablement`, `je (?:soupçonne|pense|crois|suppose)`,
			`non confirmée?`, `semble`,
		}},
		{class: BindsHedge, why: "Chinese", parts: []string{`可能`, `也许`, `或许`, `怀疑`, `未确认`, `尚未`, `大概`, `估计`, `暂时`}},

		{class: BindsReference, why: "a place: URL, path, file, host, port, address", pattern: `[a-zA-Z][a-zA-Z0-9+.-]*://\S|(?:^|[\s("'\x60=])(?:~|\.{1,2})?/[\w.@-]+|[\w.@-]+/[\w.@-]+/[\w.@-]|[\w@-]+/[\w.@-]*\.[A-Za-z]\w*|(?:^|\W)(?i:[\w-]+\.(?:go|mod|py|js|jsx|ts|tsx|rs|java|kt|rb|php|c|h|cc|cpp|cs|swift|sh|sql|json|jsonl|ya?ml|toml|ini|cfg|conf|env|md|txt|csv|tsv|xml|html?|css|lock|log|pdf|docx?|xlsx?|pptx?|png|jpe?g|svg|zip|tar|gz|proto|tf|ipynb|db|sqlite))(?:\W|$)|[\w-]+(?:\.[\w-]+)*:\d{2,5}\b|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[\w-]+(?:\.[\w-]+)*\.(?:com|net|org|io|dev|internal|local|corp|test|example|cloud|de|eu)\b|[\w.+-]+@[\w-]+\.\w|\b[A-Z]:\\`, needs: `/.:@\`},
		{class: BindsReference, why: "a branch or revision", words: []string{
			`branch`, `worktree`, `tag`, `rev`, `revision`, `commit`, `checkout`, `sha`,
		}},
		{class: BindsReference, why: "a branch by the custom of its name", needs: "/", pattern: `(?i)\b(?:feature|feat|fix|bugfix|hotfix|release|chore|origin|refs|heads|wip|topic|user)/[\w.-]`},
		{class: BindsReference, why: "an identifier, a commit, a version, an amount, a number of more than one digit, a date", needs: "0123456789", pattern: `[A-Za-z][-_]?\d|\d[-_]?[A-Za-z]|[A-Za-z]+[-_][A-Za-z0-9_-]*\d|#\d|\d[.,:/-]\d|[$€£¥]\s?\d|\d\s?[%€]|\d\d`},
		{class: BindsReference, why: "a number that counts something of which there are several", needs: "0123456789", pattern: `(?i)\b(?:rev(?:ision)?|version|release|build|run|job|ticket|issue|case|step|port|order|invoice|attempt|phase|stage|room|page|section|id|no\.?|number)\s+#?\d`},
		{class: BindsReference, why: "a name in code", needs: "_`", pattern: `\w_\w|\x60[^\x60]+\x60`},
		{class: BindsReference, why: "a name in code, in camel case", pattern: `\b[a-z]+[A-Z]\w`},
		{class: BindsReference, why: "German, Spanish, French words for names", words: []string{
			`zweig`, `pfad`, `datei`, `rama`, `ruta`, `archivo`, `branche`, `chemin`, `fichier`,
		}},
	}
}
