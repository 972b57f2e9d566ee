(** Exact coins: a sampler that compares a uniform random number with a threshold t, piece by piece and with the most
    significant piece first, and that stops as soon as it knows, says yes with probability exactly t / 2^bits.

    It says what the whole number would have said: where a piece differs from the threshold's, no later piece matters, and
    averaging over what is not drawn changes nothing. `answer`, `answers` and the three-way coin of the code are such samplers.

    A draw of b bits has 2^b outcomes, all equally likely, and independent of other draws. The code reads b / 8 random bytes as
    a number, least significant byte first, which is the same (Bytes.v). What is not proved: that the bytes of the operating
    system and of AES are uniform, and that no two draws share any. *)

From Coq Require Import ZArith QArith List Lia Bool Setoid.
Import ListNotations.
Local Open Scope Z_scope.

(** A sampler, which ends with an outcome, or draws some bits and goes on. *)
Inductive sampler (A : Type) := outcome (a : A) | draw (bits : nat) (go_on : Z -> sampler A).
Arguments outcome {A}. Arguments draw {A}.

(** f 0 + ... + f (n - 1) *)
Fixpoint sum n (f : Z -> Q) : Q := match n with O => 0%Q | S n => (sum n f + f (Z.of_nat n))%Q end.

Definition size (bits : nat) := 2 ^ Z.of_nat bits.
Definition average bits f : Q := (sum (Z.to_nat (size bits)) f / inject_Z (size bits))%Q.
Definition indicator (b : bool) : Q := if b then 1%Q else 0%Q.

(** The probability that the outcome is in a set. *)
Fixpoint chance {A} (S : A -> bool) (s : sampler A) : Q :=
  match s with outcome a => indicator (S a) | draw bits go_on => average bits (fun w => chance S (go_on w)) end.

Definition yes (s : sampler bool) := chance (fun b => b) s.

(** ** Averages *)

Lemma size_positive b : 0 < size b.
Proof. apply Z.pow_pos_nonneg; lia. Qed.

Lemma size_add a b : size (a + b) = size a * size b.
Proof. unfold size; rewrite Nat2Z.inj_add; apply Z.pow_add_r; lia. Qed.

Lemma size_nonzero b : ~ inject_Z (size b) == 0.
Proof. pose proof (size_positive b). unfold Qeq; cbn; lia. Qed.

Lemma size_of_nat b : Z.of_nat (Z.to_nat (size b)) = size b.
Proof. pose proof (size_positive b); lia. Qed.

Local Open Scope Q_scope.

Lemma sum_ext n f g : (forall v, (0 <= v < Z.of_nat n)%Z -> f v == g v) -> sum n f == sum n g.
Proof.
  induction n; intros H; cbn; [reflexivity|]. rewrite IHn, (H (Z.of_nat n)); [reflexivity | lia | intros; apply H; lia].
Qed.

Lemma sum_add i j f : sum (i + j) f == sum i f + sum j (fun v => f (Z.of_nat i + v)%Z).
Proof.
  induction j; cbn; [rewrite Nat.add_0_r; ring|]. rewrite Nat.add_succ_r; cbn. rewrite IHj, Nat2Z.inj_add; ring.
Qed.

Lemma sum_mul i j f : sum (i * j) f == sum i (fun w => sum j (fun v => f (w * Z.of_nat j + v)%Z)).
Proof. induction i; cbn; [reflexivity|]. rewrite Nat.add_comm, sum_add, IHi, Nat2Z.inj_mul; reflexivity. Qed.

Lemma sum_linear n f g p q r :
  sum n (fun v => f v * p + g v * q + r) == sum n f * p + sum n g * q + inject_Z (Z.of_nat n) * r.
Proof.
  induction n; cbn [sum]; [cbn; ring|]. rewrite IHn, Nat2Z.inj_succ. unfold Z.succ. rewrite inject_Z_plus. cbn; ring.
Qed.

Lemma sum_indicator i n : (0 <= n <= Z.of_nat i)%Z -> sum i (fun v => indicator (v <? n)) == inject_Z n.
Proof.
  revert n; induction i; intros n H; cbn [sum]; [replace n with 0%Z by lia; reflexivity|].
  destruct (Z.ltb_spec (Z.of_nat i) n); cbn [indicator].
  - rewrite (sum_ext i _ (fun v => indicator (v <? n - 1))).
    + rewrite IHi by lia. unfold Z.sub; rewrite inject_Z_plus; cbn; ring.
    + intros v Hv. destruct (Z.ltb_spec v n), (Z.ltb_spec v (n - 1)); reflexivity || lia.
  - rewrite IHi by lia; ring.
Qed.

Lemma average_ext b f g : (forall v, (0 <= v < size b)%Z -> f v == g v) -> average b f == average b g.
Proof. intros H; unfold average; rewrite (sum_ext _ f g); [reflexivity|]. rewrite size_of_nat; exact H. Qed.

Lemma average_linear b f g p q r :
  average b (fun v => f v * p + g v * q + r) == average b f * p + average b g * q + r.
Proof. unfold average; rewrite sum_linear, size_of_nat. field; apply size_nonzero. Qed.

Lemma average_constant b r : average b (fun _ => r) == r.
Proof.
  rewrite (average_ext b _ (fun v => 0 * 0 + 0 * 0 + r)) by (intros; ring).
  rewrite (average_linear b (fun _ => 0) (fun _ => 0)); ring.
Qed.

Lemma average_indicator b n :
  (0 <= n <= size b)%Z -> average b (fun v => indicator (v <? n)) == inject_Z n / inject_Z (size b).
Proof. intros; unfold average; rewrite sum_indicator by (rewrite size_of_nat; assumption); reflexivity. Qed.

(** A number in two pieces. *)
Lemma average_split a b f :
  average (a + b) f == average a (fun w => average b (fun v => f (w * size b + v)%Z)).
Proof.
  unfold average at 1 2. pose proof (size_positive a); pose proof (size_positive b).
  rewrite size_add, Z2Nat.inj_mul, sum_mul, size_of_nat, inject_Z_mult by lia.
  transitivity (sum (Z.to_nat (size a)) (fun w =>
    sum (Z.to_nat (size b)) (fun v => f (w * size b + v)%Z) * (/ inject_Z (size b)) + 0 * 0 + 0) / inject_Z (size a)).
  - rewrite (sum_linear _ _ (fun _ => 0)). field; split; apply size_nonzero.
  - unfold Qdiv; apply Qmult_comp; [|reflexivity]. apply sum_ext; intros; unfold average, Qdiv; ring.
Qed.

(** ** Two-sided coins *)

(** All bits at once. *)
Definition whole bits t := draw bits (fun w => outcome (w <? t)%Z).

Theorem whole_exact bits t : (0 <= t <= size bits)%Z -> yes (whole bits t) == inject_Z t / inject_Z (size bits).
Proof. apply average_indicator. Qed.

(** A first piece of a bits, and b more only where it is the threshold's own. *)
Lemma first_piece a b t s :
  (forall w, (0 <= w < size a)%Z ->
    yes (s w) == if (w =? t / size b)%Z then yes (whole b (t mod size b)) else indicator (w <? t / size b)%Z) ->
  yes (draw a s) == yes (whole (a + b) t).
Proof.
  intros H. unfold yes, whole; cbn [chance]. rewrite average_split. apply average_ext; intros w Hw. rewrite (H w Hw); clear H.
  pose proof (Z.div_mod t (size b)); pose proof (Z.mod_pos_bound t (size b)); pose proof (size_positive b).
  destruct (Z.eqb_spec w (t / size b)) as [-> |].
  - apply average_ext; intros v Hv. cbn [chance].
    destruct (Z.ltb_spec v (t mod size b)), (Z.ltb_spec (t / size b * size b + v) t); reflexivity || lia.
  - rewrite <- (average_constant b (indicator _)). apply average_ext; intros v Hv.
    destruct (Z.ltb_spec w (t / size b)), (Z.ltb_spec (w * size b + v) t); reflexivity || nia.
Qed.

(** Any number of pieces, of any lengths. *)
Fixpoint pieces (lengths : list nat) t : sampler bool :=
  match lengths with
  | [] => outcome (0 <? t)%Z
  | a :: others =>
      let b := list_sum others in
      draw a (fun w => if (w =? t / size b)%Z then pieces others (t mod size b) else outcome (w <? t / size b)%Z)
  end.

(** How the bits are cut into pieces does not matter. *)
Theorem pieces_whole lengths t : yes (pieces lengths t) == yes (whole (list_sum lengths) t).
Proof.
  revert t; induction lengths as [|a others IH]; intros t.
  { unfold yes, whole; cbn [chance pieces]. unfold average. change (Z.to_nat (size (list_sum []))) with 1%nat.
    change (inject_Z (size (list_sum []))) with 1. cbn [sum]. change (Z.of_nat 0) with 0%Z. field. }
  apply first_piece; intros w _. destruct (w =? _)%Z; [apply IH | reflexivity].
Qed.

Theorem pieces_exact lengths t : (0 <= t <= size (list_sum lengths))%Z ->
  yes (pieces lengths t) == inject_Z t / inject_Z (size (list_sum lengths)).
Proof. intros; rewrite pieces_whole; apply whole_exact; assumption. Qed.

(** ** Bits *)

(** `t & (2^bits - 1)` *)
Definition low t bits := Z.land t (size bits - 1).

Lemma low_mod t b : low t b = (t mod size b)%Z.
Proof.
  unfold low, size. rewrite <- Z.land_ones by lia. rewrite Z.ones_equiv; reflexivity.
Qed.

(** `t >> b` *)
Lemma shift_div t b : Z.shiftr t (Z.of_nat b) = (t / size b)%Z.
Proof. apply Z.shiftr_div_pow2; lia. Qed.

(** `w << rest | v` *)
Lemma joined w v b : (0 <= v < size b)%Z -> Z.lor (Z.shiftl w (Z.of_nat b)) v = (w * size b + v)%Z.
Proof.
  intros Hv. assert (N : Z.land (Z.shiftl w (Z.of_nat b)) v = 0%Z).
  { apply Z.bits_inj'; intros i Hi. rewrite Z.land_spec, Z.bits_0. destruct (Z.lt_ge_cases i (Z.of_nat b)).
    - rewrite Z.shiftl_spec_low by assumption; reflexivity.
    - rewrite <- (Z.mod_small v (size b)) by assumption. unfold size; rewrite Z.mod_pow2_bits_high by lia. apply andb_false_r. }
  rewrite <- Z.lxor_lor, <- Z.add_nocarry_lxor, Z.shiftl_mul_pow2 by (assumption || lia); reflexivity.
Qed.

Lemma middle t a b :
  ((t mod size (a + b)) / size b = (t / size b) mod size a /\ (t mod size (a + b)) mod size b = t mod size b)%Z.
Proof.
  pose proof (size_positive a); pose proof (size_positive b); pose proof (Z.mod_pos_bound t (size b)).
  rewrite size_add, Z.mul_comm, Z.rem_mul_r by lia.
  split; symmetry; [apply Z.div_unique with (t mod size b)%Z | apply Z.mod_unique with ((t / size b) mod size a)%Z]; lia.
Qed.

(** ** `Coin.answer` and `Coin.answers`, as they are written *)

Definition in_two first rest t : sampler bool :=
  let word := Z.shiftr t (Z.of_nat rest) in
  draw first (fun w => if (w =? word)%Z then draw rest (fun v => outcome (v <? low t rest)%Z) else outcome (w <? word)%Z).

Definition in_three first second rest t : sampler bool :=
  let top := Z.shiftr t (Z.of_nat (second + rest)) in
  let next := low (Z.shiftr t (Z.of_nat rest)) second in
  draw first (fun byte =>
    if (byte =? top)%Z then
      draw second (fun w => if (w =? next)%Z then draw rest (fun v => outcome (v <? low t rest)%Z) else outcome (w <? next)%Z)
    else outcome (byte <? top)%Z).

Definition answer bits := in_two 64 (bits - 64).
Definition answers bits := in_three 8 64 (bits - 72).

Lemma in_two_whole first rest t : yes (in_two first rest t) == yes (whole (first + rest) t).
Proof.
  unfold in_two; rewrite shift_div, low_mod. apply first_piece; intros w _. destruct (w =? _)%Z; reflexivity.
Qed.

Lemma in_three_whole first second rest t : yes (in_three first second rest t) == yes (whole (first + (second + rest)) t).
Proof.
  unfold in_three; rewrite !shift_div, !low_mod. destruct (middle t second rest) as [M N]. rewrite <- M, <- N.
  apply first_piece; intros w _. destruct (w =? _)%Z; [|reflexivity].
  apply first_piece; intros v _. destruct (v =? _)%Z; reflexivity.
Qed.

Theorem answer_exact bits t : (64 <= bits)%nat -> (0 <= t <= size bits)%Z ->
  yes (answer bits t) == inject_Z t / inject_Z (size bits).
Proof.
  intros; unfold answer; rewrite in_two_whole. replace (64 + (bits - 64))%nat with bits by lia. apply whole_exact; assumption.
Qed.

Theorem answers_exact bits t : (72 <= bits)%nat -> (0 <= t <= size bits)%Z ->
  yes (answers bits t) == inject_Z t / inject_Z (size bits).
Proof.
  intros; unfold answers; rewrite in_three_whole. replace (8 + (64 + (bits - 72)))%nat with bits by lia.
  apply whole_exact; assumption.
Qed.

(** A certain answer is certain: 2^bits has a first piece above every draw, and 0 has none below. *)
Corollary answer_certain bits : (64 <= bits)%nat -> yes (answer bits (size bits)) == 1 /\ yes (answer bits 0) == 0.
Proof.
  intros; pose proof (size_positive bits).
  split; [rewrite (answer_exact bits (size bits)) by lia | rewrite (answer_exact bits 0) by lia]; field; apply size_nonzero.
Qed.

(** Small enough to count: 5 of 8, in one piece, in two and in three. *)
Example five_of_eight : forallb (fun s => Qeq_bool (yes s) (5 # 8)) [whole 3 5; in_two 1 2 5; in_two 2 1 5; in_three 1 1 1 5;
  pieces [1; 1; 1] 5; pieces [0; 3; 0] 5]%nat = true.
Proof. reflexivity. Qed.

(** ** `Coin.outcomes`: yes below t, too close to call from there to u, and else no *)

Inductive answer3 := Yes | No | TooClose.

Definition outcome3 t u w := (if w <? t then Yes else if w <? u then TooClose else No)%Z.

Definition three_way first rest t u : sampler answer3 :=
  let t' := Z.shiftr t (Z.of_nat rest) in let u' := Z.shiftr u (Z.of_nat rest) in
  draw first (fun w =>
    if ((w =? t') || (w =? u'))%Z
    then draw rest (fun v => outcome (outcome3 t u (Z.lor (Z.shiftl w (Z.of_nat rest)) v)))
    else outcome (outcome3 t' u' w)).

Definition drawn bits := three_way 64 (bits - 64).

(** Where the first piece is neither threshold's own, it decides. *)
Lemma first_decides t u w v b : (0 <= v < size b)%Z -> w <> (t / size b)%Z -> w <> (u / size b)%Z ->
  outcome3 t u (w * size b + v) = outcome3 (t / size b) (u / size b) w.
Proof.
  intros Hv Ht Hu. pose proof (size_positive b).
  pose proof (Z.div_mod t (size b)); pose proof (Z.mod_pos_bound t (size b)).
  pose proof (Z.div_mod u (size b)); pose proof (Z.mod_pos_bound u (size b)).
  assert (E : (w * size b + v <? t)%Z = (w <? t / size b)%Z) by (apply eq_true_iff_eq; rewrite !Z.ltb_lt; nia).
  assert (F : (w * size b + v <? u)%Z = (w <? u / size b)%Z) by (apply eq_true_iff_eq; rewrite !Z.ltb_lt; nia).
  unfold outcome3; rewrite E, F; reflexivity.
Qed.

Lemma three_way_whole first rest t u S :
  chance S (three_way first rest t u) == chance S (draw (first + rest) (fun w => outcome (outcome3 t u w))).
Proof.
  unfold three_way; rewrite !shift_div. cbn [chance]; rewrite average_split. apply average_ext; intros w Hw.
  destruct (Z.eqb_spec w (t / size rest)), (Z.eqb_spec w (u / size rest)); cbn [orb chance];
    try (apply average_ext; intros v Hv; rewrite joined by assumption; reflexivity).
  rewrite <- (average_constant rest (indicator _)). apply average_ext; intros v Hv.
  rewrite first_decides by assumption; reflexivity.
Qed.

(** Each outcome, and each set of them, has exactly the table's integers over 2^bits. *)
Theorem drawn_exact bits t u S : (64 <= bits)%nat -> (0 <= t <= u)%Z -> (u <= size bits)%Z ->
  chance S (drawn bits t u) ==
    (inject_Z t * indicator (S Yes) + inject_Z (u - t) * indicator (S TooClose) + inject_Z (size bits - u) * indicator (S No))
    / inject_Z (size bits).
Proof.
  intros Hb Ht Hu. unfold drawn; rewrite three_way_whole.
  replace (64 + (bits - 64))%nat with bits by lia. cbn [chance].
  rewrite (average_ext bits _ (fun w => indicator (w <? t)%Z * (indicator (S Yes) - indicator (S TooClose)) +
    indicator (w <? u)%Z * (indicator (S TooClose) - indicator (S No)) + indicator (S No))).
  - rewrite average_linear, !average_indicator by lia. unfold Z.sub; rewrite !inject_Z_plus, !inject_Z_opp.
    field; apply size_nonzero.
  - intros w _; unfold outcome3. destruct (Z.ltb_spec w t), (Z.ltb_spec w u); try lia; cbn [indicator]; ring.
Qed.

Example three_of_eight :
  Qeq_bool (chance (fun a => match a with TooClose => true | _ => false end) (three_way 1 2 2 5)) (3 # 8) = true.
Proof. reflexivity. Qed.
