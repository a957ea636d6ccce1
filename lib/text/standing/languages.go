package standing

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// language has the cues of instructions in a language whose sentences foreignKind does not
// take apart. They are regular expressions over a sentence in lower case (see
// language.textOf), in which "^" begins it and a comma begins each further clause.
//
// A cue of an action has the form of the verb with which a person orders: "it never
// passes" is no instruction in any language.
type language struct {
	name   string
	script *unicode.RangeTable // its letters, or with nil
	marks  string              // words that only a sentence in this language has

	gap      string // what stands between two words: "" where they are written together
	harmless string // what looks like a cue and is none, such as "don't worry"
	passing  string // of a sentence that asks, or that holds only for the moment
	lasting  string // that says that something holds from now on
	never    string
	only     string
	always   string
}

// Verbs, in the forms of an order, that several cues of a language share.
const (
	ruOrders = `(?:пиши|пишите|делай|используй|запускай|отвечай|проверяй|добавляй|комментируй|коммить|пушь|сохраняй|держи|соблюдай|меняй|изменяй|трогай|правь|работай|редактируй|обновляй|форматируй|спрашивай|тестируй|называй|создавай|удаляй|прогоняй|используйте|запускайте|отвечайте|проверяйте|добавляйте|меняйте|редактируйте|писать|делать|использовать|запускать|отвечать|проверять|добавлять|менять|редактировать|спрашивать|використовуй|запускай|відповідай|перевіряй|додавай|змінюй|редагуй|працюй|використовувати|запускати|відповідати|перевіряти)`
	trOrders = `(?:kullan|yaz|çalıştır|et|yap|ver|ekle|koy|tut|cevapla|yanıtla|commitle|çalış|oku|sor|güncelle|uy|değiştir|düzenle|konuş)(?:ın|in|un|ün|yın|yin|ınız|iniz|unuz|ünüz)?`
	plOrders = `(?:pisz|używaj|uruchamiaj|sprawdzaj|odpowiadaj|dodawaj|rób|commituj|testuj|zmieniaj|edytuj|modyfikuj|komentuj|pracuj|pytaj|stosuj|formatuj|aktualizuj|trzymaj|pisać|używać|uruchamiać|sprawdzać|odpowiadać|dodawać|zmieniać|edytować|testować)(?:cie)?`
	viOrders = `(?:dùng|sử dụng|sửa|trả lời|viết|chạy|thay đổi|chỉnh|kiểm tra|thêm|cập nhật|commit|push|đặt|giữ|hỏi|làm|tuân)`
	idOrders = `(?:gunakan|pakai|jalankan|tulis|jawab|tambahkan|cek|periksa|buat|beri|berikan|pastikan|ikuti|commit|balas|simpan|ubah|edit|kerjakan|tanya|tanyakan|perbarui)`
	arOrders = `(?:استخدم|اكتب|شغل|اجب|رد|تحقق|اضف|نفذ|اختبر|قم|عدل|غير|اعمل|اسال|استعمل|حدث)`
	hiOrders = `(?:करो|करना|करें|कीजिए|रखो|रखना|रखें|लिखो|लिखना|लिखें|चलाओ|चलाना|चलाएं|चलाएँ|दो|देना|दें|बदलो|बदलना|बदलें|बनाओ|बनाना|जाँचो|पूछो|पूछना)`
	zhChange = `(?:再|随便|擅自|私自|自作主张|直接|动|碰|改|修改|更改|变更|删|删除|提交|推送|使用|用|引入|添加|加|创建|新建|重构|重写|安装|升级|格式化|覆盖|跳过|编造|push|commit|merge)`
)

// languages are those whose instructions are found by cues alone. Each has sentences of its
// own in TestLanguages.
var languages = []language{
	{
		name: "Japanese", script: kana,
		harmless: `(?:心配|気に|無理)しないで|(?:忘れ|焦ら|あきらめ)ないで`,
		passing:  `まだ|今は|とりあえず|一旦|いったん|なぜ|どうして|ですか|ますか|でしょうか|のか$|今回(?:は|だけ)|(?:ので|けど|ですが|から),?.{0,20}(?:直し|調べ|見|確認し|修正し)て`,
		lasting:  `今後(?:は|も|,|$)|これからは|今からは|以後(?:は|,)|これ以降`,
		never:    `(?:ないで(?:ください|下さい|ほしい|欲しい|くれ|いただきたい)?|ないように(?:して(?:ください|下さい|ほしい|くれ)?|お願いします)?|ないこと|禁止(?:です|だ|とする|とします)?|(?:て|で)は(?:いけません|いけない|なりません|ならない|だめ|ダメ|駄目)(?:です)?|ちゃ(?:だめ|ダメ|駄目)(?:です)?|(?:る|う|す|く|む)な)[ねよ]?(?:,|$)|(?:控えて|避けて|やめて)(?:ください|下さい)`,
		only:     `(?:だけ|のみ)[をでに]?.{0,8}(?:使っ|使用し|触っ|書い|答え|回答し|返答し)て(?:ください|下さい|ほしい)?[ねよ]?(?:,|$)|(?:だけ|のみ)[をでに]?(?:使う|使用する|触る|書く)ようにして(?:ください|下さい|ほしい|欲しい)?[ねよ]?(?:,|$)`,
		always:   `(?:必ず|常に|毎回|いつも|今後|これから).{0,60}(?:てください|て下さい|でください|[うくすつぶむる]こと|てほしい|て欲しい|お願いします|ようにして|しろ|せよ)[ねよ]?(?:,|$)|(?:必ず|常に).{0,40}[てで][ねよ]?$`,
	},
	{
		name: "Chinese", script: unicode.Han,
		harmless: `区别|分别|特别|类别|级别|识别|别的|别人|别名|别忘|别担心|别急|不要求|不要紧|不要忘|不要担心|不得不|(?:绝对|永远|决)不(?:会|是|到)|被禁止|禁止访问|只(?:用|改|写)了`,
		passing:  `吗|呢$|为什么|为何|怎么|是否|能不能|可不可以|要不要|先不|先别|暂时|这次|目前先`,
		lasting:  `从现在(?:开始|起)|从今(?:天起|以后|往后)|(?:今后|往后|以后)(?:都|请|不|别|,|一律|每|所有|必须|回|写|提交)`,
		never:    `(?:绝对|永远|千万|决|任何时候都?|任何情况下都?)(?:不|别|勿)|绝不[能要可准许允]|^(?:请|但是?|还有|另外|也|以后)*(?:不要|别)` + zhChange + `|^[^,把]{0,14}(?:不要|请勿)(?:打印|` + zhChange + `)|不允许|(?:^|,)(?:请|一律)*(?:禁止|严禁|切勿|请勿)|禁止(?:使用|修改|改|直接|提交|推送|删除|引入|添加|创建|在)|不准|不许|(?:不要|别|不能|不可以?)(?:动|碰|改动)|(?:没有|未经)(?:我的?)?.{0,4}(?:同意|允许|确认|许可),?.{0,8}[不别勿]`,
		only:     `(?:^|,)(?:请|你)*(?:只能|仅能|只允许|只准|只许|仅限|[只仅](?:用|使用|改|修改|动|碰|回答|输出|写))`,
		always:   `(?:^|,)(?:请|但是?|还有|另外|也)*(?:始终|必须|务必|一律|每次.{1,12}(?:都[要得必先]|[前后完][都要必先请]|请))|务必|一律|统一(?:使用|用[^户例途了的])|一定要|(?:请|都|要|应)(?:始终|总是)|始终(?:用|使用|保持|遵循)|必须(?:先|用|使用|写|跑|运行|通过|经过|保持)`,
	},
	{
		name: "Korean", script: unicode.Hangul, gap: " ",
		harmless: `(?:걱정|신경|서두르|잊|미안)\S* ?\S*지 ?(?:마|말)\S*`,
		passing:  `왜 |까요|나요|는지 |일단|우선|지금은|아직|이번엔|이번에는|당분간|어떻게|(?:는데|니까|어서|해서|길래) .*(?:고쳐|수정해|확인해|봐) ?(?:줘|주세요)`,
		lasting:  `(?:^|,) (?:앞으로|지금부터|이제부터|이후로)(?:는|도)? `,
		never:    `지[는도]? ?(?:마 |마세요|마라|마십|마요|말아|말 ?것|말도록)|절대.*지 ?(?:말고|않도록)|금지(?:입니다|다|야|이야|예요|임|합니다|해)? (?:,|$)|서는 ?안 ?[돼됩된되]|(?:수정하|변경하|삭제하|건드리|커밋하|푸시하|머지하|사용하|쓰|바꾸)면 ?안 ?[돼됩된되]|절대 .*면 ?안 ?[돼됩된되]`,
		only:     `(?:\S만|오직|\S로만) .*(?:사용|써|쓰|수정|변경|건드|편집|답|커밋|고치|작업|출력|작성)\S* ?(?:\S*(?:세요|십시오|줘|줘요|라|것))? (?:,|$)`,
		always:   `(?:항상|언제나|반드시|매번|무조건) .*(?:세요|십시오|줘|줘요|하라|해라|것|도록 ?(?:해|하세요|합니다)|해야 ?(?:해|해요|합니다|한다|돼|됩니다)|바랍니다) (?:,|$)|(?:항상|언제나|반드시|매번|무조건) .*(?:전에|전에는|후에|때마다|먼저|나한테|저한테|저에게|지켜) ?.*(?:돌려|실행해|확인해|물어봐|지켜) (?:,|$)`,
	},
	{
		name: "Russian and Ukrainian", script: unicode.Cyrillic, gap: " ",
		harmless: ` не (?:забудь|забывай|волнуйся|переживай|беспокойся|спеши|торопись|думай|стесняйся|хвилюйся|забувай|поспішай|турбуйся)(?:те|тесь)?`,
		passing:  `^ (?:почему|зачем|как|где|кто|чому|навіщо|як) | пока (?:,|$|что|не надо|не нужно|так)| сейчас | (?:в|на) этот раз | поки що | зараз `,
		lasting:  ` (?:с этого момента|отныне|впредь|с сегодняшнего дня|в дальнейшем|на будущее|з цього моменту|відтепер|надалі|на майбутнє) `,
		never: ` (?:никогда|ни в коем случае|ни при каких (?:условиях|обстоятельствах)|ни за что)(?: больше)? не (?:\S+(?:й|йте|[^л]и|ите|[^ш]ь|[^ш]ьте|ться)|пушь) | (?:ніколи|(?:ні в якому|в жодному|у жодному) разі)(?: більше)? не (?:\S+(?:й|йте|[^л]и|іть|[^тш]ь|ьте)|пуш) | не ` + ruOrders + ` .*(?:никогда|ніколи) |` +
			`(?:^|,) (?:пожалуйста |и |но |также |а |больше |будь ласка )*не (?:(?:трога|меня|изменя|удаля|добавля|использу|редактиру|создава|переписыва|переименовыва|устанавлива|запуска|лома|отключа|обновля|форматиру|чіпа|змінюва|видаля|додава|використовуй|створю)(?:й|йте|ть|ти)?|коммить|коммитить|пушь|пуши|пушить|правь|править|лезь|мержи|рефактори|використовувати|змінюй) \S| (?:нельзя|запрещено|запрещается|не смей|не можна|заборонено) (?:трогать|менять|изменять|удалять|коммитить|пушить|редактировать|использовать|добавлять|чіпати|змінювати|видаляти)|(?:^|,) (?:трогать|коммитить|пушить) (?:\S+ ){1,4}(?:нельзя|запрещено|запрещается) | без (?:моего|моєї|мого) (?:разрешения|согласия|подтверждения|дозволу|згоди) `,
		only:   `(?:^|,) (?:пожалуйста )?` + ruOrders + ` (?:\S+ ){0,3}(?:только|лишь|исключительно|лише|тільки) |(?:^|,) (?:только|исключительно|лише|тільки) ` + ruOrders + ` `,
		always: `(?:^|,) (?:пожалуйста |и |также |будь ласка )*(?:всегда|завжди) (?:\S+(?:й|йте|[^л]и|ите|іть|[^ш]ь|[^ш]ьте|ти)|пушь) |(?:^|,) (?:пожалуйста )?` + ruOrders + ` .*(?:всегда|завжди) |(?:^|,) (?:пожалуйста )?(?:спрашивай|спрашивайте|согласуй|согласуйте) (?:меня |со мной )?,? (?:прежде чем|перед тем) | (?:перед|после|після) (?:кажд|кожн)\S+ .*` + ruOrders + ` |` + ruOrders + ` .* (?:перед|после|після) (?:кажд|кожн)\S+ `,
	},
	{
		name: "Arabic", script: unicode.Arabic, gap: " ",
		harmless: `لا (?:تعمل|تظهر|تستجيب|تقلق|تنس|تنسي|تتردد)`,
		passing:  ` (?:لماذا|كيف|هل|حاليا|مؤقتا) | هذه المره `,
		lasting:  ` من الان (?:ف|و)صاعدا | بعد الان `,
		never:    `(?:^|,) (?:من فضلك |رجاء )*و?لا (?:تعدل|تغير|تحذف|تلمس|تستخدم|تضف|تضيف|تدفع|ترفع|تكتب|تنشئ|تقم|تقوم|تستعمل|تمسح|تدمج)\S* | لا ت\S+ .*(?:ابدا|مطلقا|اطلاقا|نهائيا) | (?:ممنوع|يمنع|يحظر|اياك) | يجب (?:الا|عدم) `,
		only:     ` ` + arOrders + `\S* .*فقط | فقط ` + arOrders,
		always:   `(?:^|,) (?:من فضلك )?دائما ` + arOrders + `|(?:^|,) (?:من فضلك )?` + arOrders + `\S* .*دائما | يجب دائما | (?:قبل|بعد) كل .*` + arOrders + `|(?:^|,) ` + arOrders + `\S* .* (?:قبل|بعد) كل `,
	},
	{
		name: "Hindi", script: unicode.Devanagari, gap: " ",
		harmless: `(?:चिंता|फिक्र|टेंशन) मत|मत (?:घबरा|भूल)\S*`,
		passing:  ` (?:अभी|फिलहाल|क्यों|कैसे) | इस बार `,
		lasting:  ` (?:अब|आगे|आज) से `,
		never:    ` (?:कभी|कभी भी|बिल्कुल|बिलकुल|कदापि) .*(?:मत|न|ना|नहीं) (?:\S+ )?(?:` + hiOrders + `|छुओ|छूना|छेड़ना|हटाना|हटाओ)| (?:मत|न) (?:\S+ )?(?:` + hiOrders + `|छुओ|छूना|छुएं|छेड़ना|हटाना|हटाओ|हटाएं) (?:,|$)| ` + hiOrders + ` मत (?:,|$)`,
		only:     ` (?:केवल|सिर्फ|सिर्फ़) .*` + hiOrders + ` (?:,|$)`,
		always:   ` (?:हमेशा|सदैव|हर बार) .*` + hiOrders + ` (?:,|$)`,
	},
	{
		name: "Thai", script: unicode.Thai, gap: ",",
		harmless: `อย่า(?:ลืม|กังวล)`,
		passing:  `ทำไม|ไหม|หรือเปล่า|ตอนนี้|ชั่วคราว|ครั้งนี้|ยังไง|อย่าเพิ่ง`,
		lasting:  `ตั้งแต่นี้|จากนี้ไป|ต่อจากนี้|นับจากนี้`,
		never:    `(?:ห้าม|อย่า)(?:ไป|เด็ดขาด)?,?(?:แก้|ลบ|ใช้|เพิ่ม|แตะ|เปลี่ยน|ยุ่ง|สร้าง|เขียน|รัน|ติดตั้ง|push|commit|merge|deploy)`,
		only:     `(?:ใช้|แก้|ตอบ|เขียน|ทำ).*เท่านั้น`,
		always:   `(?:ให้|ต้อง|โปรด|กรุณา|ช่วย|^|,)(?:ใช้|เขียน|ตอบ|รัน|ทดสอบ|ตรวจสอบ|บันทึก|ถาม|commit).*(?:เสมอ|ทุกครั้ง)`,
	},
	{
		name: "Turkish", marks: "asla kesinlikle sakın daima sadece yalnızca bundan hiçbir lütfen mutlaka zaman itibaren yasak", gap: " ",
		harmless: ` (?:merak etme|endişelenme|unutma|üzülme)(?:yın|yin)? `,
		passing:  ` (?:şimdilik|henüz|neden|niye|nasıl|mı|mi|mu|mü|mısın|misin) | bu seferlik `,
		lasting:  ` (?:bundan sonra|bundan böyle|şu andan itibaren|şimdiden sonra) `,
		never:    ` (?:asla|hiçbir (?:zaman|şekilde|koşulda)|kesinlikle|sakın) .*m[ae](?:yın|yin|yınız|yiniz)? (?:,|$)|(?:dokunma|değiştirme|silme|kullanma|commitleme|pushlama|düzenleme|ekleme|yapma|oluşturma)(?:yın|yin|yınız|yiniz)? (?:,|$)| yasak(?:tır)? (?:,|$)`,
		only:     ` (?:sadece|yalnızca) .*` + trOrders + ` (?:,|$)`,
		always:   ` (?:her zaman|daima|her seferinde|mutlaka) .*(?: ` + trOrders + `|m[ae]l[ıi](?:s[ıi]n)?) (?:,|$)`,
	},
	{
		name: "Polish", marks: "nigdy zawsze nie tylko wyłącznie proszę odtąd teraz pory przyszłość każdym", gap: " ",
		harmless: ` nie (?:martw|przejmuj|zapomnij|zapominaj|krępuj|spiesz)\S* `,
		passing:  `^ (?:czy|dlaczego|czemu|jak|gdzie|kto) | na razie | tym razem | jeszcze nie `,
		lasting:  ` (?:od teraz|od tej pory|odtąd|na przyszłość|od dziś|od dzisiaj) `,
		never:    ` nigdy (?:więcej |już )?nie (?:\S+(?:j|jcie|ć)|pisz|rób|zmień|usuń|wprowadź|twórz) |(?:^|,) (?:proszę |i |ale |też |więcej )*nie (?:(?:zmieniaj|modyfikuj|usuwaj|dotykaj|ruszaj|używaj|dodawaj|commituj|pushuj|edytuj|instaluj|przepisuj|wprowadzaj)(?:cie)?|twórz|zmieniać|modyfikować|usuwać|dotykać|używać|dodawać|edytować) \S| nie wolno `,
		only:     `(?:^|,) (?:proszę )?` + plOrders + ` (?:\S+ ){0,3}(?:tylko|wyłącznie|jedynie) |(?:^|,) (?:tylko|wyłącznie) ` + plOrders + ` `,
		always:   `(?:^|,) (?:proszę |i |też )*zawsze ` + plOrders + ` |(?:^|,) (?:proszę )?` + plOrders + ` (?:\S+ )*zawsze | (?:przed|po) każd\S+ .*` + plOrders + ` |` + plOrders + ` .*(?:przed|po) każd\S+ `,
	},
	{
		name: "Vietnamese", marks: "đừng không luôn chỉ cấm tuyệt từ", gap: " ",
		harmless: ` đừng (?:lo|quên|ngại)| luôn (?:bị|báo|lỗi|trả về|thất bại)`,
		passing:  ` (?:tạm thời|lần này|tại sao|vì sao|chưa) `,
		lasting:  ` (?:từ giờ|từ nay|từ bây giờ) `,
		never:    `(?:^|,) (?:xin |vui lòng |và |nhưng |cũng )*(?:(?:đừng|không) bao giờ|tuyệt đối (?:không|đừng)|cấm|không được) |(?:^|,) (?:xin |vui lòng )*đừng (?:tự ý |tự động )?(?:` + viOrders + `|xóa|xoá|chạm|đụng|động|tạo|cài|đổi)`,
		only:     `(?:^|,) (?:hãy |vui lòng )*chỉ (?:được )?` + viOrders,
		always:   `(?:^|,) (?:xin |hãy |vui lòng |nhớ )*luôn(?: luôn)? (?:phải )?` + viOrders,
	},
	{
		name: "Indonesian", marks: "jangan selalu hanya saja mulai depannya seterusnya setiap", gap: " ",
		harmless: ` jangan (?:khawatir|lupa|ragu|takut|sungkan) `,
		passing:  ` (?:dulu|sementara|kenapa|mengapa|belum) | untuk saat ini `,
		lasting:  ` (?:mulai sekarang|mulai saat ini|ke depannya|seterusnya) `,
		never:    `(?:^|,) (?:tolong |mohon |dan |tapi |juga )*jangan (?:pernah |sekali-kali |sampai |lagi )?\S+ \S`,
		only:     `(?:^|,) (?:tolong |mohon )*hanya ` + idOrders + ` |(?:^|,) (?:tolong |mohon )*` + idOrders + ` .*(?:hanya .*|saja (?:,|$))`,
		always:   `(?:^|,) (?:tolong |mohon |dan )*selalu ` + idOrders + ` |(?:^|,) (?:tolong |mohon )*` + idOrders + ` .*(?:setiap|selalu) `,
	},
}

// kana are the letters that tell Japanese from Chinese.
var kana = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x3041, Hi: 0x30ff, Stride: 1}}}

// simpler writes characters that mean the same in one way: traditional Chinese characters,
// Arabic letters with their signs.
var simpler = strings.NewReplacer("絕", "绝", "對", "对", "遠", "远", "務", "务", "須", "须", "從", "从", "後", "后", "總", "总", "別", "别", "許", "许", "準", "准", "嚴", "严", "請", "请", "動", "动", "刪", "删", "變", "变", "寫", "写", "會", "会", "還", "还", "個", "个", "開", "开", "時", "时", "暫", "暂", "經", "经", "認", "认", "嗎", "吗", "為", "为", "麼", "么", "這", "这", "僅", "仅", "輸", "输", "運", "运", "過", "过",
	"أ", "ا", "إ", "ا", "آ", "ا", "ى", "ي", "ة", "ه", "ـ", "", "\u064b", "", "\u064c", "", "\u064d", "", "\u064e", "", "\u064f", "", "\u0650", "", "\u0651", "", "\u0652", "",
	"ё", "е", "i\u0307", "i")

// language returns the language of a sentence, by its script or else by its marks; nil for
// English and those that foreignKind knows. The first that fits counts, so Japanese, which has
// Chinese characters as well, comes before Chinese.
func (s *sentence) language() *language {
	latin := !strings.ContainsFunc(s.text, func(r rune) bool {
		return r > unicode.MaxLatin1 && !unicode.Is(unicode.Latin, r) && unicode.IsLetter(r)
	})
	for i := range languages {
		l := &languages[i]
		switch {
		case l.script == nil && hasAnyWord(s.words, l.marks), !latin && l.script != nil && strings.ContainsFunc(s.text, func(r rune) bool { return unicode.Is(l.script, r) }):
			return l
		}
	}
	return nil
}

// textOf returns a sentence for the cues: its clauses between commas, simpler characters, and
// "…" for what is harmless.
func (l *language) textOf(s *sentence) string {
	var clauses []string
	for _, words := range s.clauses {
		text := strings.Join(words, l.gap)
		if l.gap == " " {
			text = " " + text + " "
		}
		clauses = append(clauses, text)
	}
	text := simpler.Replace(strings.Join(clauses, ","))
	if l.harmless != "" {
		text = compileCues(l.harmless).ReplaceAllString(text, " … ")
	}
	return text
}

// instructionKind returns the kind of the instruction that a sentence is, KindNone if it is none.
func (l *language) instructionKind(s *sentence) Kind {
	text := l.textOf(s)
	holds := func(cues string) bool { return compileCues(cues).MatchString(text) }
	switch {
	case s.asks || holds(l.passing):
		return KindNone
	case holds(l.never):
		return KindNever
	case holds(l.only):
		return KindOnly
	case holds(l.always), holds(l.lasting):
		return KindAlways
	}
	return KindNone
}

var expressions sync.Map // from cues to *regexp.Regexp

// compileCues compiles cues at their first use, so that a session pays for its languages alone.
func compileCues(cues string) *regexp.Regexp {
	if re, ok := expressions.Load(cues); ok {
		return re.(*regexp.Regexp)
	}
	re := regexp.MustCompile(simpler.Replace(cues))
	expressions.Store(cues, re)
	return re
}
