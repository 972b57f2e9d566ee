(** What a text means as a number: "3/5", "12", "0.25", "1e-6"; exactly such texts are read ([number_of_iff]), and every
    fraction can be written so that it is read back ([fraction_written]). *)

From Coq Require Import ZArith QArith Reals Qreals Ascii String List Bool Lia Lra.
From Duotone Require Import GraphCheck ReadCertificate.
Import ListNotations.
Open Scope Z_scope.

(** ** What is meant *)

(** Digits, and their value in tens. *)
Definition figures (l : list ascii) := Forall (fun c => digit c <> None) l.
Definition digit_value (c : ascii) : Z := match digit c with Some n => n | None => 0 end.
Definition value_from (v : Z) (l : list ascii) : Z := fold_left (fun v c => 10 * v + digit_value c) l v.
Definition value := value_from 0.
Definition size (l : list ascii) : Z := Z.of_nat (List.length l).

(** A power of ten: nothing, or an e, perhaps a sign, and one to four digits that are at most 5000. *)
Inductive power : list ascii -> Z -> Prop :=
| no_power : power [] 0
| plain l : figures l -> 1 <= size l <= 4 -> value l <= 5000 -> power ("e"%char :: l) (value l)
| plus l : figures l -> 1 <= size l <= 4 -> value l <= 5000 -> power ("e"%char :: "+"%char :: l) (value l)
| minus l : figures l -> 1 <= size l <= 4 -> value l <= 5000 -> power ("e"%char :: "-"%char :: l) (- value l).

Inductive numeral : list ascii -> Q -> Prop :=
| fraction n d : figures n -> n <> [] -> figures d -> 1 <= value d ->
    numeral (n ++ "/"%char :: d) (value n # Z.to_pos (value d))
| integral n p e : figures n -> n <> [] -> power p e -> numeral (n ++ p) (scaled (value n) e)
| decimal n f p e : figures n -> n <> [] -> figures f -> f <> [] -> power p e ->
    numeral (n ++ "."%char :: f ++ p) (scaled (value (n ++ f)) (e - size f)).

(** [scaled] is a multiple of a power of ten. *)
Lemma scaled_is n e : Q2R (scaled n e) = (IZR n * powerRZ 10 e)%R.
Proof.
  unfold scaled. destruct (Z.leb_spec 0 e) as [H | H].
  - unfold Q2R; cbn [Qnum Qden]. rewrite mult_IZR, Rinv_1, Rmult_1_r. f_equal. rewrite <- (Z2Nat.id e H) at 1.
    rewrite <- pow_IZR, pow_powerRZ, Z2Nat.id by assumption. reflexivity.
  - unfold Q2R; cbn [Qnum Qden]. assert (0 < 10 ^ (- e)) by (apply Z.pow_pos_nonneg; lia). rewrite Z2Pos.id by assumption.
    f_equal.
    rewrite <- (Z2Nat.id (- e)) by lia. rewrite <- pow_IZR, pow_powerRZ, Z2Nat.id by lia.
    rewrite <- powerRZ_neg'. f_equal; lia.
Qed.

(** ** Digits *)

Definition ends (l : list ascii) := match l with c :: _ => digit c = None | [] => True end.

Lemma digits_of v count l : let '(v', count', rest) := digits v count l in
  exists n, l = n ++ rest /\ figures n /\ v' = value_from v n /\ count' = count + size n /\ ends rest.
Proof.
  revert v count; induction l as [| a l IH]; intros v count; simpl.
  - exists []. repeat split; [constructor | unfold size; simpl; lia].
  - destruct (digit a) as [k|] eqn:D.
    + specialize (IH (10 * v + k) (count + 1)). destruct (digits _ _ l) as [[v' count'] rest].
      destruct IH as (n & -> & F & -> & -> & E).
      exists (a :: n). repeat split; auto; [constructor; [congruence | exact F]| |unfold size; simpl List.length; lia].
      change (value_from v (a :: n)) with (value_from (10 * v + digit_value a) n). unfold digit_value; rewrite D. reflexivity.
    + exists []. repeat split; [constructor | unfold size; simpl; lia | exact D].
Qed.

Lemma digits_read v count n rest : figures n -> ends rest ->
  digits v count (n ++ rest) = (value_from v n, count + size n, rest).
Proof.
  intros F E. revert v count; induction F as [| a n D F IH]; intros v count.
  - simpl. replace (count + size []) with count by (unfold size; simpl; lia).
    destruct rest as [| c rest]; simpl in *; [|rewrite E]; reflexivity.
  - change (value_from v (a :: n)) with (value_from (10 * v + digit_value a) n). simpl. unfold digit_value.
    destruct (digit a) as [k|]; [|congruence]. rewrite IH.
    replace (count + size (a :: n)) with (count + 1 + size n) by (unfold size; simpl List.length; lia). reflexivity.
Qed.

Lemma size_positive (l : list ascii) : 1 <= size l <-> l <> [].
Proof. unfold size. destruct l; simpl List.length; split; intros; try lia; congruence. Qed.

(** ** Powers *)

(** The same functions, by comparing characters. *)
Definition ending sign l := let '(e, count, rest) := digits 0 0 l in
  match rest with [] => if (1 <=? count) && (count <=? 4) && (e <=? 5000) then Some (sign * e) else None | _ => None end.

Lemma exponent_is l : exponent l = match l with
  | [] => Some 0
  | c :: l => if Ascii.eqb c "e" then match l with
                | c :: more => if Ascii.eqb c "-" then ending (-1) more
                               else if Ascii.eqb c "+" then ending 1 more else ending 1 l
                | [] => ending 1 l end
              else None end.
Proof.
  destruct l as [| [[] [] [] [] [] [] [] []] l]; try reflexivity.
  destruct l as [| [[] [] [] [] [] [] [] []] l]; reflexivity.
Qed.

Lemma ending_iff sign l e : ending sign l = Some e <-> figures l /\ 1 <= size l <= 4 /\ value l <= 5000 /\ e = sign * value l.
Proof.
  unfold ending. split.
  - pose proof (digits_of 0 0 l) as D. destruct (digits 0 0 l) as [[v count] rest]. destruct D as (n & -> & F & -> & -> & _).
    destruct rest; [|discriminate]. destruct (_ && _) eqn:C; [|discriminate]. rewrite !andb_true_iff, !Z.leb_le in C.
    rewrite app_nil_r. unfold value. intros [= <-]. repeat split; try assumption; lia.
  - intros (F & S & V & ->). rewrite <- (app_nil_r l), (digits_read 0 0 l [] F I), app_nil_r. fold value.
    rewrite (proj2 (Z.leb_le _ _) V). replace (1 <=? 0 + size l) with true by (symmetry; apply Z.leb_le; lia).
    replace (0 + size l <=? 4) with true by (symmetry; apply Z.leb_le; lia). reflexivity.
Qed.

Lemma exponent_iff l e : exponent l = Some e <-> power l e.
Proof.
  rewrite exponent_is. split.
  - destruct l as [| c l]; [intros [= <-]; constructor|]. destruct (Ascii.eqb_spec c "e") as [-> | _]; [|discriminate].
    assert (G : ending 1 l = Some e -> power ("e"%char :: l) e).
    { rewrite ending_iff. intros (F & S & V & ->). rewrite Z.mul_1_l. constructor; assumption.
      } destruct l as [| c l]; [exact G|].
    destruct (Ascii.eqb_spec c "-") as [-> | _]; [|destruct (Ascii.eqb_spec c "+") as [-> | _]; [|exact G]];
      rewrite ending_iff; intros (F & S & V & ->).
    + replace (-1 * value l) with (- value l) by lia. constructor; assumption.
    + rewrite Z.mul_1_l. constructor; assumption.
  - destruct 1 as [| l F S V | l F S V | l F S V]; simpl; [reflexivity | | apply ending_iff; rewrite Z.mul_1_l; auto |].
    + assert (E : ending 1 l = Some (value l)) by (apply ending_iff; rewrite Z.mul_1_l; auto).
      destruct l as [| c l]; [exact E|].
      inversion F as [| ? ? D _]; subst. destruct (Ascii.eqb_spec c "-") as [-> | _]; [exfalso; apply D; reflexivity|].
      destruct (Ascii.eqb_spec c "+") as [-> | _]; [exfalso; apply D; reflexivity | exact E].
    + apply ending_iff. repeat split; auto; lia.
Qed.

(** ** Numbers *)

Lemma number_of_is l : number_of l =
  let '(n, count, rest) := digits 0 0 l in
  if 1 <=? count then
    let plain := let! e := exponent rest in Some (scaled n e) in
    match rest with
    | c :: more =>
        if Ascii.eqb c "/" then
          let '(d, count, rest) := digits 0 0 more in
          match rest with [] => if (1 <=? count) && (1 <=? d) then Some (n # Z.to_pos d)%Q else None | _ => None end
        else if Ascii.eqb c "." then
          let '(f, more, rest) := digits n 0 more in
          if 1 <=? more then let! e := exponent rest in Some (scaled f (e - more)) else None
        else plain
    | [] => plain
    end
  else None.
Proof.
  unfold number_of. destruct (digits 0 0 l) as [[n count] rest]. destruct (1 <=? count); [|reflexivity].
  destruct rest as [| [[] [] [] [] [] [] [] []] rest]; reflexivity.
Qed.

Lemma power_ends p e : power p e -> ends p.
Proof. destruct 1; simpl; auto. Qed.

Lemma value_app n f : value_from (value n) f = value (n ++ f).
Proof. unfold value, value_from. rewrite fold_left_app. reflexivity. Qed.

Lemma value_least v l : 0 <= v -> 0 <= value_from v l.
Proof.
  revert v; induction l as [| c l IH]; intros v H; [exact H|]. apply IH. unfold digit_value, digit.
  destruct (_ && _) eqn:C; [|lia]. rewrite andb_true_iff, !Z.leb_le in C. lia.
Qed.

Lemma value_nonempty l : 1 <= value l -> l <> [].
Proof. intros H ->. unfold value, value_from in H; simpl in H. lia. Qed.

(** Exactly the numerals are read, as what they mean. *)
Theorem number_of_iff l q : number_of l = Some q <-> numeral l q.
Proof.
  rewrite number_of_is. split.
  - pose proof (digits_of 0 0 l) as D. destruct (digits 0 0 l) as [[v count] rest]. destruct D as (n & -> & F & -> & -> & _).
    fold (value n). destruct (Z.leb_spec 1 (0 + size n)) as [S | _]; [|discriminate]. apply size_positive in S.
    assert (G : (let! e := exponent rest in Some (scaled (value n) e)) = Some q -> numeral (n ++ rest) q).
    { destruct (exponent rest) as [e|] eqn:E; [|discriminate]. intros [= <-]. apply exponent_iff in E.
      constructor; assumption. }
    destruct rest as [| c more]; [exact G|]. destruct (Ascii.eqb_spec c "/") as [-> | _].
    + pose proof (digits_of 0 0 more) as D. destruct (digits 0 0 more) as [[v count] rest].
      destruct D as (d & -> & Fd & -> & -> & _).
      destruct rest; [|discriminate]. destruct (_ && _) eqn:C; [|discriminate]. rewrite andb_true_iff, !Z.leb_le in C.
      intros [= <-]. rewrite app_nil_r. apply fraction; auto. apply C.
    + destruct (Ascii.eqb_spec c ".") as [-> | _]; [|exact G].
      pose proof (digits_of (value n) 0 more) as D. destruct (digits (value n) 0 more) as [[v count] rest].
      destruct D as (f & -> & Ff & -> & -> & _). destruct (Z.leb_spec 1 (0 + size f)) as [Sf | _]; [|discriminate].
      apply size_positive in Sf. destruct (exponent rest) as [e|] eqn:E; [|discriminate]. intros [= <-].
        apply exponent_iff in E.
      rewrite value_app. apply decimal; auto.
  - assert (Some_digit : forall n : list ascii, n <> [] -> (1 <=? 0 + size n) = true) by
      (intros n N; apply size_positive in N; apply Z.leb_le; lia).
    destruct 1 as [n d Fn Nn Fd Vd | n p e Fn Nn Hp | n f p e Fn Nn Ff Nf Hp].
    + rewrite (digits_read 0 0 n ("/"%char :: d) Fn eq_refl).
      rewrite (Some_digit n Nn). cbv zeta. rewrite Ascii.eqb_refl.
      rewrite <- (app_nil_r d), (digits_read 0 0 d [] Fd I), app_nil_r. fold value. 
      rewrite (Some_digit d (value_nonempty d Vd)), (proj2 (Z.leb_le 1 (value d)) Vd). reflexivity.
    + rewrite (digits_read 0 0 n p Fn (power_ends p e Hp)). rewrite (Some_digit n Nn).
      cbv zeta. fold (value n). apply exponent_iff in Hp as E. rewrite E. destruct p as [| c p]; [reflexivity|].
      replace c with "e"%char by (inversion Hp; reflexivity). reflexivity.
    + rewrite (digits_read 0 0 n ("."%char :: f ++ p) Fn eq_refl).
      rewrite (Some_digit n Nn). cbv zeta. change (Ascii.eqb "." "/") with false. rewrite Ascii.eqb_refl. cbv iota.
      fold (value n). rewrite (digits_read (value n) 0 f p Ff (power_ends p e Hp)), value_app.
      rewrite (Some_digit f Nf). apply exponent_iff in Hp. rewrite Hp. reflexivity.
Qed.

(** Entries of a table are whole numbers up to ONE. *)
Theorem whole_iff bits one j n : whole bits one j = Some n <->
  exists s, j = Text s /\ let l := list_ascii_of_string s in long l <= bits /\ figures l /\ l <> [] /\ n = value l /\ n <= one.
Proof.
  unfold whole, text. split.
  - destruct j as [| | | | s | |]; try discriminate. intros H. exists s. split; [reflexivity|]. cbv zeta.
    set (l := list_ascii_of_string s) in *. destruct (Z.leb_spec (long l) bits); [|discriminate].
    pose proof (digits_of 0 0 l) as D. destruct (digits 0 0 l) as [[v count] rest]. destruct D as (k & -> & F & -> & -> & _).
    destruct rest; [|discriminate]. destruct (_ && _) eqn:C; [|discriminate]. rewrite andb_true_iff, !Z.leb_le in C.
    injection H as <-. rewrite app_nil_r in *. repeat split; try assumption; [apply size_positive; lia | apply C].
  - intros (s & -> & H). cbv zeta in H. set (l := list_ascii_of_string s) in *. destruct H as (L & F & N & -> & O).
    apply size_positive in N. rewrite (proj2 (Z.leb_le (long l) bits)) by assumption.
    rewrite <- (app_nil_r l) at 1. rewrite (digits_read 0 0 l [] F I). fold value.
    rewrite (proj2 (Z.leb_le 1 (0 + size l))), (proj2 (Z.leb_le (value l) one)) by lia. reflexivity.
Qed.

(** ** Writing *)

Lemma written_digit n : 0 <= n <= 9 -> exists c, digit c = Some n.
Proof.
  intros H. assert (E : n = 0 \/ n = 1 \/ n = 2 \/ n = 3 \/ n = 4 \/ n = 5 \/ n = 6 \/ n = 7 \/ n = 8 \/ n = 9) by lia.
  repeat destruct E as [-> | E]; [exists "0"%char | exists "1"%char | exists "2"%char | exists "3"%char | exists "4"%char |
    exists "5"%char | exists "6"%char | exists "7"%char | exists "8"%char | subst; exists "9"%char]; reflexivity.
Qed.

Lemma written n : 0 <= n -> exists l, figures l /\ l <> [] /\ value l = n.
Proof.
  revert n. enough (G : forall n, 0 <= n -> 0 <= n -> exists l, figures l /\ l <> [] /\ value l = n)
    by (intros n H; exact (G n H H)).
  apply (Z_lt_induction (fun n => 0 <= n -> exists l, figures l /\ l <> [] /\ value l = n)). intros n IH H.
    pose proof (Z.div_mod n 10 ltac:(lia)) as E. pose proof (Z.mod_pos_bound n 10 ltac:(lia)).
  destruct (written_digit (n mod 10)) as [c D]; [lia|]. destruct (Z_lt_le_dec n 10) as [S | S].
  - exists [c]. split; [constructor; [congruence | constructor]|]. split; [discriminate|].
    unfold value, value_from, digit_value; simpl.
    rewrite D. rewrite Z.mod_small by lia. reflexivity.
  - assert (0 <= n / 10 < n) by (split; [apply Z.div_pos | apply Z.div_lt]; lia).
    destruct (IH (n / 10)) as (l & F & N & V); [lia | lia|].
    exists (l ++ [c]). split; [apply Forall_app; split; [exact F | constructor; [congruence | constructor]]|].
    split; [destruct l; discriminate|]. rewrite <- value_app, V. unfold value_from, digit_value; cbn [fold_left]. rewrite D.
      lia.
Qed.

(** Every fraction that is not negative can be written, and is read back as it was. *)
Theorem fraction_written q : 0 <= Qnum q -> exists l, number_of l = Some q.
Proof.
  intros H. destruct q as [n d]; cbn in H. destruct (written n H) as (ln & Fn & Nn & <-).
  destruct (written (Zpos d)) as (ld & Fd & Nd & Vd); [lia|].
  exists (ln ++ "/"%char :: ld). replace d with (Z.to_pos (value ld)) by (rewrite Vd; reflexivity).
  apply number_of_iff, fraction; auto. lia.
Qed.
